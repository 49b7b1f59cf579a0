// SPDX-License-Identifier: MIT
#include "io/pickle.h"

#include "core/error.h"
#include "io/pickle_bytes.h"
#include "io/pickle_values.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

namespace ordo {
namespace {

using namespace pickle;

class Machine : PickleBytes {
public:
    Machine(std::string_view pickle, std::string_view where, const PickleLimits& limits)
        : PickleBytes(pickle, where), limits_(limits), left_(limits.memory + 2 * size_) {
        if (size_ > limits.bytes)
            fail(ErrorCode::model, where, ": expected at most ", limits.bytes, " bytes, found ", size_);
    }

    // Reads the pickle to its end; size, if given, gets its bytes.
    Machine& run(std::size_t* size) {
        while (step()) {
        }
        if (stack_.size() != 1) wrong("one value at its end", std::to_string(stack_.size()));
        if (size != nullptr) *size = size_ - rest_.size();
        return *this;
    }

    PickledDictionary dictionary() {
        const Value& root = state_dictionary();
        check_count(root.items.size() / 2, "tensors");
        PickledDictionary all;
        for (std::size_t i = 0; i + 1 < root.items.size(); i += 2)
            all.tensors.push_back(tensor(root.items[i], root.items[i + 1]));
        for (const Value& value : values_)
            if (value.kind == Kind::storage) all.storages.push_back({value.text, named(value.items[0]).dtype});
        return all;
    }
    std::vector<std::string_view> texts() const {
        const Value& list = of(stack_.front(), Kind::list);
        check_count(list.items.size(), "texts");
        std::vector<std::string_view> all;
        for (const Ref item : list.items) all.push_back(of(item, Kind::text).text);
        return all;
    }

private:
    void check_count(std::size_t found, const char* things) const {
        if (found > limits_.tensors)
            wrong("at most " + std::to_string(limits_.tensors) + " " + things, std::to_string(found));
    }
    // The member of a dictionary; null if there is none.
    const Value* member(const Value& dictionary, std::string_view key) const {
        for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2)
            if (values_[dictionary.items[i]].kind == Kind::text && values_[dictionary.items[i]].text == key)
                return &values_[dictionary.items[i + 1]];
        return nullptr;
    }
    // The dictionary at the root, or the innermost one under a usual name.
    const Value& state_dictionary() const {
        const Value *found = &of(stack_.front(), Kind::dictionary), *inner = found;
        for (int level = 0; level < 4 && inner != nullptr; ++level) {
            found = std::exchange(inner, nullptr);
            for (const std::string_view name : {"module", "model", "model_state_dict", "state_dict"})
                if (const Value* in = member(*found, name); in && in->kind == Kind::dictionary && !in->items.empty())
                    inner = in;
        }
        return *found;
    }

    // ---- Messages
    [[noreturn]] void refuse(const std::string& found) const {
        fail(ErrorCode::model, where_, ": expected tensors and nothing else, found ", found,
             ", which is never loaded; save the weights alone: torch.save(model.state_dict(), FILE)");
    }

    // ---- Values
    void spend(std::size_t bytes) {
        if (bytes > left_)
            wrong("values of at most " + std::to_string(limits_.memory + 2 * size_) + " bytes in memory", "more");
        left_ -= bytes;
    }
    void push(Value value) {
        spend(sizeof value + 2 * sizeof(Ref) + value.items.size() * sizeof(Ref));
        stack_.push_back(static_cast<Ref>(values_.size()));
        values_.push_back(std::move(value));
    }
    Ref pop() {
        if (stack_.empty()) wrong("a value for every opcode", "none");
        const Ref top = stack_.back();
        stack_.pop_back();
        return top;
    }
    Value& top() {
        if (stack_.empty()) wrong("a value for every opcode", "none");
        return values_[stack_.back()];
    }
    const Value& of(Ref ref, Kind kind) const {
        const Value& value = values_[ref];
        if (value.kind != kind) wrong(std::string(kind_names[static_cast<std::size_t>(kind)]), described(value));
        return value;
    }
    // Removes the last mark and the values above it, and returns these in their order.
    std::vector<Ref> pop_to_mark() {
        std::size_t at = stack_.size();
        while (at > 0 && values_[stack_[at - 1]].kind != Kind::mark) --at;
        if (at == 0) wrong("a mark", "none");
        std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
        stack_.resize(at - 1);
        return items;
    }
    std::vector<Ref> pop_last(std::size_t n) {
        std::vector<Ref> items(n);
        for (std::size_t i = n; i-- > 0;) items[i] = pop();
        return items;
    }
    void extend(Kind kind, const std::vector<Ref>& items) {
        Value& to = top();
        if (to.kind != kind) wrong(std::string(kind_names[static_cast<std::size_t>(kind)]), described(to));
        if (kind == Kind::dictionary && items.size() % 2 != 0) wrong("a value for every key", "none");
        spend(2 * items.size() * sizeof(Ref));
        to.items.insert(to.items.end(), items.begin(), items.end());
    }

    // ---- Opcodes
    bool step() {
        const auto opcode = static_cast<std::uint8_t>(take(1).front());
        if (opcode == '.') return false;
        if (!make_value(opcode) && !gather(opcode) && !remember(opcode) && !call(opcode)) {
            static constexpr char digits[] = "0123456789abcdef";
            refuse(std::string("the opcode 0x") + digits[opcode / 16] + digits[opcode % 16]);
        }
        return true;
    }

    bool make_value(std::uint8_t opcode) {
        switch (opcode) {
        case '(':
            return push({Kind::mark}), true;
        case 'N':
            return push({Kind::none}), true;
        case 0x88: // NEWTRUE, NEWFALSE
        case 0x89:
            return push({Kind::boolean, opcode == 0x88}), true;
        case 'J': // BININT
            return push({Kind::integer, static_cast<std::int32_t>(number(4))}), true;
        case 'K': // BININT1, BININT2
        case 'M':
            return push({Kind::integer, static_cast<std::int64_t>(number(opcode == 'K' ? 1 : 2))}), true;
        case 0x8a: // LONG1
            return push({Kind::integer, long_number()}), true;
        case 'G': // BINFLOAT: no tensor depends on it
            take(8);
            return push({Kind::fraction}), true;
        case 'X': // BINUNICODE, SHORT_BINUNICODE; BINSTRING and SHORT_BINSTRING of Python 2
        case 'T':
        case 'U':
        case 0x8c:
            return push({Kind::text, 0, take(number(opcode == 'X' || opcode == 'T' ? 4 : 1))}), true;
        default:
            return false;
        }
    }

    std::int64_t long_number() {
        const std::uint64_t width = number(1);
        if (width > 8) wrong("a number of at most 8 bytes", std::to_string(width));
        const std::uint64_t bits = number(width), unused = width == 0 ? 0 : 64 - 8 * width;
        return static_cast<std::int64_t>(bits << unused) >> unused;
    }

    bool gather(std::uint8_t opcode) {
        switch (opcode) {
        case ')':
            return push({Kind::tuple}), true;
        case ']':
            return push({Kind::list}), true;
        case '}':
            return push({Kind::dictionary}), true;
        case 't':
            push_tuple(pop_to_mark());
            return true;
        case 0x85: // TUPLE1, TUPLE2, TUPLE3
        case 0x86:
        case 0x87:
            push_tuple(pop_last(opcode - 0x84u));
            return true;
        case 'a':
            return extend(Kind::list, pop_last(1)), true;
        case 'e':
            return extend(Kind::list, pop_to_mark()), true;
        case 's':
            return extend(Kind::dictionary, pop_last(2)), true;
        case 'u':
            return extend(Kind::dictionary, pop_to_mark()), true;
        default:
            return false;
        }
    }
    void push_tuple(std::vector<Ref> items) { push({Kind::tuple, 0, {}, std::move(items)}); }

    bool remember(std::uint8_t opcode) {
        switch (opcode) {
        case 'q': // BINPUT, LONG_BINPUT
        case 'r':
            return put(number(opcode == 'q' ? 1 : 4)), true;
        case 0x94: // MEMOIZE
            return put(memo_.size()), true;
        case 'h': // BINGET, LONG_BINGET
        case 'j': {
            const std::uint64_t place = number(opcode == 'h' ? 1 : 4);
            if (place >= memo_.size() || memo_[place] == nothing)
                wrong("a value that was remembered as " + std::to_string(place), "none");
            spend(2 * sizeof(Ref));
            stack_.push_back(memo_[place]);
            return true;
        }
        default:
            return false;
        }
    }
    void put(std::uint64_t place) {
        top();
        if (place >= memo_.size()) {
            spend((place + 1 - memo_.size()) * sizeof(Ref));
            memo_.resize(place + 1, nothing);
        }
        memo_[place] = stack_.back();
    }

    // ---- Names and their values
    bool call(std::uint8_t opcode) {
        switch (opcode) {
        case 0x80: // PROTO
            if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5)
                wrong("a protocol from 2 to 5", std::to_string(protocol));
            return true;
        case 0x95: // FRAME
            return take(8), true;
        case 'c': { // GLOBAL
            const std::string_view module = line();
            return push_name(module, line()), true;
        }
        case 0x93: { // STACK_GLOBAL
            const std::vector<Ref> names = pop_last(2);
            return push_name(of(names[0], Kind::text).text, of(names[1], Kind::text).text), true;
        }
        case 'Q': // BINPERSID
            return push_storage(pop()), true;
        case 'R': { // REDUCE
            const std::vector<Ref> both = pop_last(2);
            return reduce(named(both[0]), both[1]), true;
        }
        case 'b': // BUILD: a dictionary's _metadata, which does not affect tensors
            pop();
            extend(Kind::dictionary, {});
            return true;
        default:
            return false;
        }
    }

    void push_name(std::string_view module, std::string_view name) {
        const auto* const found = std::find_if(std::begin(allowed), std::end(allowed),
                                               [&](const Name& a) { return a.module == module && a.name == name; });
        if (found == std::end(allowed))
            refuse("the name '" + printable(std::string(module) + "." + std::string(name)) + "'");
        push({Kind::name, found - std::begin(allowed)});
    }
    const Name& named(Ref ref) const { return allowed[of(ref, Kind::name).number]; }

    // ('storage', type, key, device, elements); before PyTorch 1.6 also None, or (key, offset, elements) of a part of
    // it
    void push_storage(Ref id) {
        const std::vector<Ref>& parts = of(id, Kind::tuple).items;
        const bool part = parts.size() == 6 && values_[parts[5]].kind == Kind::tuple;
        if (parts.size() < 5 || parts.size() > 6 || (part && values_[parts[5]].items.size() != 3) ||
            of(parts[0], Kind::text).text != "storage" || of(parts[2], Kind::text).text.size() > limits_.name_bytes)
            wrong("the parts of a storage", "others");
        if (named(parts[1]).role != NameRole::storage)
            wrong("the type of a storage", std::string(named(parts[1]).name));
        const Value& elements = of(parts[4], Kind::integer);
        if (elements.number < 0) wrong("a number of elements", std::to_string(elements.number));
        std::vector<Ref> items{parts[1]};
        if (part) items.push_back(of(parts[5], Kind::tuple).items[1]);
        push({Kind::storage, elements.number, of(parts[2], Kind::text).text, std::move(items)});
    }

    void reduce(const Name& name, Ref arguments) {
        const std::vector<Ref>& parts = of(arguments, Kind::tuple).items;
        switch (name.role) {
        case NameRole::dictionary:
            if (!parts.empty()) wrong("an empty dictionary", "arguments");
            return push({Kind::dictionary});
        case NameRole::tensor: // storage, offset, shape, strides, requires_grad, hooks, and maybe metadata
            if (parts.size() < 4 || parts.size() > 7) wrong("the parts of a tensor", std::to_string(parts.size()));
            of(parts[0], Kind::storage);
            return push({Kind::tensor, 0, {}, {parts[0], parts[1], parts[2], parts[3]}});
        case NameRole::parameter: // tensor, requires_grad, hooks
            if (parts.size() != 3) wrong("the parts of a parameter", std::to_string(parts.size()));
            of(parts[0], Kind::tensor);
            stack_.push_back(parts[0]);
            return;
        case NameRole::storage:
            refuse("a call of '" + std::string(name.name) + "'");
        }
    }

    // ---- Tensors
    PickledTensor tensor(Ref key, Ref value) {
        PickledTensor tensor;
        tensor.name = of(key, Kind::text).text;
        if (tensor.name.size() > limits_.name_bytes)
            wrong("names of at most " + std::to_string(limits_.name_bytes) + " bytes",
                  std::to_string(tensor.name.size()));
        if (values_[value].kind != Kind::tensor)
            fail(ErrorCode::model, where_, ": '", printable(tensor.name), "': expected a tensor, found ",
                 described(values_[value]), "; save the weights alone: torch.save(model.state_dict(), FILE)");
        const std::vector<Ref>& parts = values_[value].items;
        const Value& storage = values_[parts[0]];
        tensor.storage = storage.text;
        tensor.dtype = named(storage.items[0]).dtype;
        tensor.storage_elements = static_cast<std::uint64_t>(storage.number);
        tensor.offset = static_cast<std::uint64_t>(size(tensor, parts[1]));
        if (storage.items.size() > 1) tensor.offset += static_cast<std::uint64_t>(size(tensor, storage.items[1]));
        tensor.shape = sizes(tensor, parts[2]);
        tensor.strides = sizes(tensor, parts[3]);
        // It is held here, by the file and by the store of the model's tensors.
        spend(3 * (sizeof tensor + tensor.name.size() + 2 * tensor.shape.size() * sizeof(std::int64_t)));
        if (tensor.shape.size() != tensor.strides.size())
            fail(ErrorCode::model, where_, ": tensor '", printable(tensor.name), "': expected ", tensor.shape.size(),
                 " strides, found ", tensor.strides.size());
        return tensor;
    }
    std::int64_t size(const PickledTensor& tensor, Ref ref) const {
        const Value& value = values_[ref];
        if (value.kind != Kind::integer || value.number < 0)
            fail(ErrorCode::model, where_, ": tensor '", printable(tensor.name),
                 "': expected whole numbers from 0 on, found ",
                 value.kind == Kind::integer ? std::to_string(value.number) : described(value));
        return value.number;
    }
    std::vector<std::int64_t> sizes(const PickledTensor& tensor, Ref ref) const {
        const std::vector<Ref>& items = of(ref, Kind::tuple).items;
        if (items.size() > limits_.rank)
            fail(ErrorCode::model, where_, ": tensor '", printable(tensor.name), "': expected at most ", limits_.rank,
                 " axes, found ", items.size());
        std::vector<std::int64_t> sizes;
        for (const Ref item : items) sizes.push_back(size(tensor, item));
        return sizes;
    }

    static constexpr Ref nothing = ~Ref{0};

    const PickleLimits& limits_;
    std::size_t left_; // bytes of memory
    std::deque<Value> values_;
    std::vector<Ref> stack_, memo_;
};

} // namespace

PickledDictionary read_pickled_tensors(std::string_view text, std::string_view where, const PickleLimits& limits,
                                       std::size_t* size) {
    return Machine(text, where, limits).run(size).dictionary();
}

std::vector<std::string_view> read_pickled_texts(std::string_view text, std::string_view where,
                                                 const PickleLimits& limits, std::size_t* size) {
    return Machine(text, where, limits).run(size).texts();
}

std::size_t pickle_size(std::string_view text, std::string_view where, const PickleLimits& limits) {
    std::size_t size = 0;
    Machine(text, where, limits).run(&size);
    return size;
}

} // namespace ordo
