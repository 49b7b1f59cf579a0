// SPDX-License-Identifier: MIT
#include "io/zip.h"

#include "io/checked.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <tuple>

namespace ordo {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view end_magic = "PK\x05\x06"sv, end64_magic = "PK\x06\x06"sv, locator_magic = "PK\x06\x07"sv,
                           entry_magic = "PK\x01\x02"sv, local_magic = "PK\x03\x04"sv;
constexpr std::size_t end_bytes = 22, end64_bytes = 56, locator_bytes = 20, entry_bytes = 46, local_bytes = 30;
constexpr std::size_t longest_comment = 0xffff;
// These values mark fields whose real values are in a zip64 record.
constexpr std::uint64_t in_zip64_16 = 0xffff, in_zip64_32 = 0xffffffff;
constexpr std::uint64_t encrypted = 1;
constexpr std::uint64_t zip64_extra = 1;

using Entries = std::map<std::string, ZipEntry, std::less<>>;

// A record of little-endian numbers, read in order.
class Record {
public:
    explicit Record(std::string_view bytes) : rest_(bytes) {}
    std::uint64_t number(std::size_t width) {
        std::uint64_t value = 0;
        std::memcpy(&value, rest_.data(), width);
        rest_.remove_prefix(width);
        return value;
    }
    void skip(std::size_t n) { rest_.remove_prefix(n); }
    std::string_view text(std::size_t n) {
        const std::string_view text = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return text;
    }
    std::size_t size() const { return rest_.size(); }

private:
    std::string_view rest_;
};

// The directory's place, and its number of entries.
struct Place {
    std::uint64_t entries, bytes, offset;
};

class Reader {
public:
    Reader(const FileBytes& archive, const ZipLimits& limits) : archive_(archive), limits_(limits) {}

    Entries read() const {
        const Place place = find_directory();
        if (place.bytes > limits_.directory_bytes)
            wrong("directory", "at most " + std::to_string(limits_.directory_bytes) + " bytes", place.bytes);
        if (place.entries > limits_.entries || place.entries > place.bytes / entry_bytes)
            wrong("directory",
                  "at most " + std::to_string(std::min<std::uint64_t>(limits_.entries, place.bytes / entry_bytes)) +
                      " entries",
                  place.entries);
        const std::string bytes = text_at(place.offset, place.bytes);
        Record record(bytes);
        Entries entries;
        std::vector<std::pair<std::uint64_t, const Entries::value_type*>> by_header;
        for (std::uint64_t i = 0; i < place.entries; ++i) {
            auto [name, header, entry] = read_entry(record, i, place.offset);
            const auto [at, added] = entries.emplace(name, entry);
            if (!added)
                fail(ErrorCode::model, where(), ": zip entry '", printable(name), "': expected once, found twice");
            by_header.emplace_back(header, &*at);
        }
        std::sort(by_header.begin(), by_header.end());
        for (std::size_t i = 1; i < by_header.size(); ++i) {
            const auto& [name, entry] = *by_header[i - 1].second;
            if (entry.offset + entry.size > by_header[i].first)
                fail(ErrorCode::model, where(), ": zip entry '", printable(name), "': expected its data before entry '",
                     printable(by_header[i].second->first), "', found both in the same bytes");
        }
        return entries;
    }

private:
    const std::string& where() const { return archive_.where(); }
    [[noreturn]] void malformed(std::string_view expected) const {
        fail(ErrorCode::model, where(), ": zip archive: expected ", expected, ", found none");
    }
    [[noreturn]] void wrong(std::string_view thing, const std::string& expected, std::uint64_t found) const {
        fail(ErrorCode::model, where(), ": zip ", thing, ": expected ", expected, ", found ", found);
    }

    std::string text_at(std::uint64_t offset, std::uint64_t size) const {
        if (!((Checked(offset) + Checked(size)) <= Checked(archive_.size())))
            fail(ErrorCode::model, where(), ": zip archive: expected ", size, " bytes at ", offset, ", found ",
                 archive_.size(), " bytes in all");
        std::string text(static_cast<std::size_t>(size), '\0');
        archive_.read(offset, std::as_writable_bytes(std::span(text)));
        return text;
    }

    // The last end record belongs to the archive; only its comment may follow.
    Place find_directory() const {
        const std::uint64_t size = std::min<std::uint64_t>(archive_.size(), end_bytes + longest_comment);
        const std::uint64_t start = archive_.size() - size;
        const std::string tail = text_at(start, size);
        std::size_t at = tail.rfind(end_magic);
        while (at != tail.npos && tail.size() - at < end_bytes)
            at = at == 0 ? tail.npos : tail.rfind(end_magic, at - 1);
        if (at == tail.npos) malformed("its directory at the end of the file");
        Record record(std::string_view(tail).substr(at, end_bytes));
        record.skip(4);
        const std::uint64_t disk = record.number(2), first_disk = record.number(2);
        record.skip(2);
        Place place{};
        place.entries = record.number(2);
        place.bytes = record.number(4);
        place.offset = record.number(4);
        const bool zip64 = place.entries == in_zip64_16 || place.bytes == in_zip64_32 || place.offset == in_zip64_32 ||
                           disk == in_zip64_16;
        if (!zip64 && (disk != 0 || first_disk != 0)) malformed("one file (this archive is split)");
        return zip64 ? find_directory64(start + at) : place;
    }

    Place find_directory64(std::uint64_t end) const {
        if (end < locator_bytes) malformed("a zip64 directory");
        const std::string locator = text_at(end - locator_bytes, locator_bytes);
        if (!locator.starts_with(locator_magic)) malformed("a zip64 directory");
        Record place_of_end(locator);
        place_of_end.skip(8);
        const std::string bytes = text_at(place_of_end.number(8), end64_bytes);
        if (!bytes.starts_with(end64_magic)) malformed("a zip64 directory");
        Record record(bytes);
        record.skip(4 + 8 + 2 + 2 + 4 + 4 + 8);
        Place place{};
        place.entries = record.number(8);
        place.bytes = record.number(8);
        place.offset = record.number(8);
        return place;
    }

    // The name, the place of the header before the data, and the data.
    std::tuple<std::string, std::uint64_t, ZipEntry> read_entry(Record& record, std::uint64_t index,
                                                                std::uint64_t end_of_data) const {
        const auto cut_short = [&] {
            fail(ErrorCode::model, where(), ": zip directory: entry ", index, " is cut short or malformed");
        };
        if (record.size() < entry_bytes || record.text(4) != entry_magic) cut_short();
        record.skip(4);
        const std::uint64_t flags = record.number(2), method = record.number(2);
        record.skip(8);
        std::uint64_t packed = record.number(4), size = record.number(4);
        const std::uint64_t name_bytes = record.number(2), extra_bytes = record.number(2), comment = record.number(2);
        record.skip(8);
        std::uint64_t header = record.number(4);
        if (record.size() < name_bytes + extra_bytes + comment) cut_short();
        if (name_bytes > limits_.name_bytes)
            wrong("directory", "names of at most " + std::to_string(limits_.name_bytes) + " bytes", name_bytes);
        std::string name(record.text(name_bytes));
        read_zip64(record.text(extra_bytes), name, {&size, &packed, &header});
        record.skip(comment);
        const std::string thing = where() + ": zip entry '" + printable(name) + "': expected ";
        if ((flags & encrypted) != 0) fail(ErrorCode::model, thing, "plain data, found encrypted data");
        if (method != 0 || packed != size)
            fail(ErrorCode::model, thing, "stored data (method 0), found compressed data (method ", method, ")");
        return {name, header, {data_of(header, name, size, end_of_data), size}};
    }

    // Reads the fields marked as zip64 from the zip64 record, in their order.
    void read_zip64(std::string_view extra, const std::string& name,
                    std::initializer_list<std::uint64_t*> fields) const {
        const auto refers = [](const std::uint64_t* field) { return *field == in_zip64_32; };
        if (std::none_of(fields.begin(), fields.end(), refers)) return;
        Record records(extra);
        while (records.size() >= 4) {
            const std::uint64_t kind = records.number(2), bytes = records.number(2);
            if (bytes > records.size()) break;
            Record record(records.text(bytes));
            if (kind != zip64_extra) continue;
            for (std::uint64_t* field : fields)
                if (refers(field) && record.size() >= 8) *field = record.number(8);
            return;
        }
        fail(ErrorCode::model, where(), ": zip entry '", printable(name), "': expected its zip64 sizes, found none");
    }

    // The data follow a second header, which repeats the name and has its own padding.
    std::uint64_t data_of(std::uint64_t header, const std::string& name, std::uint64_t size, std::uint64_t end) const {
        const std::string bytes = text_at(header, local_bytes);
        Record record(bytes);
        if (record.text(4) != local_magic)
            fail(ErrorCode::model, where(), ": zip entry '", printable(name), "': expected its header at ", header,
                 ", found none");
        record.skip(22);
        const std::uint64_t name_bytes = record.number(2), extra_bytes = record.number(2);
        const Checked offset = Checked(header) + Checked(local_bytes + name_bytes + extra_bytes);
        if (name_bytes != name.size() || !(offset + Checked(size) <= Checked(end)) ||
            text_at(header + local_bytes, name_bytes) != name)
            fail(ErrorCode::model, where(), ": zip entry '", printable(name), "': expected a header of its name and ",
                 size, " bytes in front of the directory, found something else");
        return offset.value();
    }

    const FileBytes& archive_;
    const ZipLimits& limits_;
};

} // namespace

std::map<std::string, ZipEntry, std::less<>> read_zip_directory(const FileBytes& archive, const ZipLimits& limits) {
    return Reader(archive, limits).read();
}

} // namespace ordo
