// SPDX-License-Identifier: MIT
#include "text/jinja_values.h"

#include <array>
#include <charconv>
#include <map>
#include <system_error>

namespace ordo::jinja {
namespace {

// The variables of the template, of one iteration of a loop, or of one call of a macro.
struct Scope {
    Scope* outer;
    std::map<std::string_view, Value> names = {};
};

class Evaluator {
public:
    explicit Evaluator(const Input& input) : now_(input.now) {
        std::vector<Value> messages;
        for (const Record& message : input.messages) {
            Dict* const made = work_.dict();
            for (const auto& [name, value] : message) made->set(name, value);
            messages.emplace_back(made);
        }
        for (const std::string_view name : {"namespace", "range", "raise_exception", "strftime_now"})
            root_.names[name] = Function{nullptr, name};
        for (const std::string_view name : {"tools", "documents"}) root_.names[name] = None{};
        for (const auto& [name, value] : input.names) root_.names[name] = value;
        root_.names["add_generation_prompt"] = input.add_generation_prompt;
        root_.names["messages"] = work_.list(std::move(messages));
    }

    enum class Flow { on, stop, skip }; // stop ends a loop, skip one iteration
    Flow execute(const std::vector<Node>& statements, std::string& out) {
        for (const Node& node : statements)
            if (const Flow flow = execute(node, out); flow != Flow::on) return flow;
        return Flow::on;
    }

private:
    // Calls, with a scope of its own for the variables that are set.
    template <class Call>
    auto inside(Scope* outer, const Call& call) {
        Scope own{outer};
        Scope* const before = std::exchange(scope_, &own);
        const auto result = call();
        scope_ = before;
        return result;
    }

    // ---- Statements ----
    void write(std::string_view text, std::string& out) {
        work_.spend(text.size());
        out += text;
    }

    Flow execute(const Node& node, std::string& out) {
        const Deeper deeper(depth_, node.line);
        if (node.kind == NodeKind::loop) return loop(node, out);
        if (node.kind == NodeKind::stop) return Flow::stop;
        if (node.kind == NodeKind::skip) return Flow::skip;
        if (node.kind == NodeKind::text) write(node.text, out);
        if (node.kind == NodeKind::print) write(text_of(work_, evaluate(node.parts[0])), out);
        if (node.kind == NodeKind::set) assign(node.parts[0], evaluate(node.parts[1]));
        if (node.kind == NodeKind::set_block) assign(node.parts[0], written(node.body));
        if (node.kind == NodeKind::scope) write(text_of(work_, written(node.body)), out);
        if (node.kind == NodeKind::macro) scope_->names[node.text] = Function{&node, node.text};
        if (node.kind == NodeKind::branches)
            for (const Node& branch : node.body)
                if (branch.parts.empty() || is_true(evaluate(branch.parts[0]))) return execute(branch.body, out);
        return Flow::on;
    }

    // The text of statements with a scope of their own.
    Value written(const std::vector<Node>& statements) {
        return inside(scope_, [&] {
            std::string text;
            execute(statements, text);
            return work_.text(std::move(text));
        });
    }

    void assign(const Node& target, const Value& value) {
        work_.line = target.line;
        work_.spend(64);
        if (target.kind == NodeKind::name) {
            scope_->names[target.text] = value;
        } else if (target.kind == NodeKind::attribute) {
            const Value object = evaluate(target.parts[0]);
            Dict* const dict = dict_in(object);
            if (dict == nullptr || !dict->is_namespace) work_.refuse("expected a namespace, found ", described(object));
            dict->set(target.text, value);
        } else {
            const std::vector<Value> items = items_of(work_, value);
            if (items.size() != target.parts.size())
                work_.refuse("expected ", target.parts.size(), " values, found ", items.size());
            for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
        }
    }

    Flow loop(const Node& node, std::string& out) {
        std::vector<Value> items = items_of(work_, evaluate(node.parts[1]));
        if (node.parts.size() > 2)
            std::erase_if(items, [&](const Value& item) {
                return inside(scope_, [&] {
                    assign(node.parts[0], item);
                    return !is_true(evaluate(node.parts[2]));
                });
            });
        if (items.empty()) return execute(node.otherwise, out);
        Dict* const state = work_.dict();
        const auto size = static_cast<std::int64_t>(items.size());
        const auto at = [&](std::int64_t place) {
            return place >= 0 && place < size ? items[static_cast<std::size_t>(place)] : Undefined{"an item"};
        };
        for (std::int64_t i = 0; i < size; ++i) {
            state->members = {
                {"index", i + 1},       {"index0", i},           {"revindex", size - i}, {"revindex0", size - 1 - i},
                {"first", i == 0},      {"last", i + 1 == size}, {"length", size},       {"previtem", at(i - 1)},
                {"nextitem", at(i + 1)}};
            const Flow flow = inside(scope_, [&] {
                assign(node.parts[0], at(i));
                scope_->names["loop"] = state;
                return execute(node.body, out);
            });
            if (flow == Flow::stop) break;
        }
        return Flow::on;
    }

    // ---- Expressions ----
    Value evaluate(const Node& node) {
        const Deeper deeper(depth_, node.line);
        work_.spend(32);
        work_.line = node.line;
        const std::size_t size = node.parts.size();
        std::vector<Value> items;
        switch (node.kind) {
        case NodeKind::string:
            return node.text;
        case NodeKind::integer: {
            std::int64_t value = 0;
            const char* const end = node.text.data() + node.text.size();
            if (std::from_chars(node.text.data(), end, value).ec == std::errc()) return value;
            work_.refuse("expected a smaller number, found ", printable(node.text));
        }
        case NodeKind::constant:
            if (node.text == "none" || node.text == "None") return None{};
            return node.text == "true" || node.text == "True";
        case NodeKind::name:
            return variable(node.text);
        case NodeKind::list:
        case NodeKind::dict:
            for (const Node& part : node.parts) items.push_back(evaluate(part));
            return node.kind == NodeKind::list ? work_.list(std::move(items)) : dict_of(items);
        case NodeKind::call:
            return call(node);
        case NodeKind::conditional: // with its parts in the order of the text
            if (is_true(evaluate(node.parts[1]))) return evaluate(node.parts[0]);
            return size > 2 ? evaluate(node.parts[2]) : Undefined{"the value without 'else'"};
        case NodeKind::keyword:
            work_.refuse("expected a value, found '", printable(node.text), "='");
        default:
            return operation(node, evaluate(node.parts[0]));
        }
    }

    Value operation(const Node& node, const Value& first) {
        const auto part = [&](std::size_t i) { return i < node.parts.size() ? evaluate(node.parts[i]) : None{}; };
        const bool both = node.kind == NodeKind::both;
        if (both || node.kind == NodeKind::either) return is_true(first) == both ? part(1) : first;
        if (node.kind == NodeKind::invert) return !is_true(first);
        Arguments arguments = arguments_of(node);
        const auto& places = arguments.places;
        switch (node.kind) {
        case NodeKind::attribute:
            return member_of(work_, first, node.text);
        case NodeKind::subscript:
            return member_of(work_, first, places[0]);
        case NodeKind::slice:
            return slice_of(work_, first, places[0], places[1], places.size() > 2 ? places[2] : None{});
        case NodeKind::negate:
            return operate(work_, "-", std::int64_t{0}, first);
        case NodeKind::binary:
            return operate(work_, node.text, first, places[0]);
        case NodeKind::test:
            return test(work_, node.text, first, arguments);
        default:
            return filter(work_, node.text, first, arguments);
        }
    }

    Value dict_of(const std::vector<Value>& items) {
        Dict* const made = work_.dict();
        for (std::size_t i = 0; i < items.size(); i += 2) made->set(text_of(work_, items[i]), items[i + 1]);
        return made;
    }

    Value variable(std::string_view name) const {
        for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer)
            if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
        return Undefined{name};
    }

    // ---- Calls ----
    Arguments arguments_of(const Node& node) {
        Arguments arguments;
        for (std::size_t i = 1; i < node.parts.size(); ++i)
            if (const Node& part = node.parts[i]; part.kind == NodeKind::keyword)
                arguments.named.emplace_back(part.text, evaluate(part.parts[0]));
            else
                arguments.places.push_back(evaluate(part));
        work_.line = node.line;
        return arguments;
    }

    Value call(const Node& node) {
        const Node& called = node.parts[0];
        const bool method_called = called.kind == NodeKind::attribute;
        const Value value = evaluate(method_called ? called.parts[0] : called);
        Arguments arguments = arguments_of(node);
        if (method_called) return method(work_, called.text, value, arguments);
        const Function* const function = as<Function>(value);
        if (function == nullptr) work_.refuse("the function '", printable(called.text), "' is not supported");
        const Value result =
            function->macro != nullptr ? run(*function->macro, arguments) : run(function->name, arguments);
        arguments.refuse_rest(work_);
        return result;
    }

    Value run(const Node& macro, Arguments& arguments) {
        return inside(&root_, [&] {
            for (std::size_t i = 0; i < macro.parts.size(); ++i) {
                const Node& parameter = macro.parts[i];
                const Value* const given = arguments.take(i, parameter.text);
                const bool has_default = parameter.kind == NodeKind::keyword;
                const Value other =
                    given == nullptr && has_default ? evaluate(parameter.parts[0]) : Undefined{parameter.text};
                scope_->names[parameter.text] = given != nullptr ? *given : other;
            }
            return written(macro.body);
        });
    }

    Value run(std::string_view name, Arguments& arguments) {
        if (name == "range") return range(arguments);
        if (name == "namespace") {
            Dict* const made = work_.dict();
            made->is_namespace = true;
            for (auto& [key, value] : arguments.named) made->set(std::exchange(key, {}), value);
            return made;
        }
        const Value* const given = arguments.take(0);
        const std::string text(given != nullptr ? text_of(work_, *given) : "");
        if (name == "raise_exception") fail(ErrorCode::usage, printable(text, 200));
        std::tm parts{};
        std::array<char, 256> date{};
        const bool known = localtime_r(&now_, &parts) != nullptr;
        return work_.text({date.data(), known ? std::strftime(date.data(), date.size(), text.c_str(), &parts) : 0});
    }

    Value range(Arguments& arguments) {
        std::int64_t bounds[] = {0, 0, 1};
        for (std::size_t i = 0; i < 3; ++i)
            if (const Value* const given = arguments.take(i)) bounds[i] = number_in(*given).value_or(0);
        if (arguments.places.size() == 1) std::swap(bounds[0], bounds[1]);
        const auto [from, to, step] = bounds;
        if (step == 0) work_.refuse("range: expected a step, found 0");
        std::vector<Value> items;
        for (std::int64_t i = from; step > 0 ? i < to : i > to;) {
            work_.spend(sizeof(Value));
            items.emplace_back(i);
            if (__builtin_add_overflow(i, step, &i)) break;
        }
        return work_.list(std::move(items));
    }

    Work work_;
    Scope root_{nullptr};
    Scope* scope_ = &root_;
    std::time_t now_;
    int depth_ = 0;
};

} // namespace

std::string evaluate(const std::vector<Node>& statements, const Input& input) {
    std::string out;
    Evaluator(input).execute(statements, out);
    return out;
}

} // namespace ordo::jinja
