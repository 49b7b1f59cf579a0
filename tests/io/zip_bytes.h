// SPDX-License-Identifier: MIT
// A zip archive of stored entries in memory, field by field (PKWARE's APPNOTE), so that tests can corrupt each field.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ordo::test {

inline std::string little(std::uint64_t value, std::size_t width) {
    std::string bytes;
    for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(i < 8 ? value >> 8 * i & 0xff : 0);
    return bytes;
}

struct ZipFields {
    std::uint64_t flags = 0, method = 0, disk = 0;
    bool zip64 = false;          // sizes, counts and offsets in zip64 records
    std::uint64_t shift = 0;     // added to every offset of a header
    std::uint64_t claim = 0;     // added to every size
    std::uint64_t more = 0;      // added to the number of entries
    std::string other_name = {}; // in the headers before the data
};

inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries, const ZipFields& f = {}) {
    constexpr std::uint64_t all = 0xffffffff;
    std::string data, directory;
    for (const auto& [name, content] : entries) {
        const std::uint64_t size = content.size() + f.claim, header = data.size() + f.shift;
        const std::string sizes = f.zip64 ? little(all, 4) + little(all, 4) : little(size, 4) + little(size, 4);
        const std::string record = little(1, 2) + little(24, 2) + little(size, 8) + little(size, 8) + little(header, 8);
        const std::string extra = "FB" + little(2, 2) + "ZZ" + (f.zip64 ? record : "");
        const std::string before = little(20, 2) + little(f.flags, 2) + little(f.method, 2) + little(0, 8) + sizes;
        directory += "PK\x01\x02" + little(20, 2) + before + little(name.size(), 2) + little(extra.size(), 2) +
                     little(0, 10) + (f.zip64 ? little(all, 4) : little(header, 4)) + name + extra;
        const std::string& written = f.other_name.empty() ? name : f.other_name;
        data += "PK\x03\x04" + before + little(written.size(), 2) + little(6, 2) + written + "FB" + little(2, 2) +
                "ZZ" + content;
    }
    const std::uint64_t count = entries.size() + f.more, start = data.size();
    std::string end;
    if (f.zip64) {
        end = "PK\x06\x06" + little(44, 8) + little(45, 4) + little(0, 8) + little(count, 8) + little(count, 8) +
              little(directory.size(), 8) + little(start, 8);
        end += "PK\x06\x07" + little(0, 4) + little(start + directory.size(), 8) + little(1, 4);
        end += "PK\x05\x06" + little(0, 4) + little(0xffff, 2) + little(0xffff, 2) + little(all, 4) + little(all, 4);
    } else {
        end = "PK\x05\x06" + little(f.disk, 2) + little(f.disk, 2) + little(count, 2) + little(count, 2) +
              little(directory.size(), 4) + little(start, 4);
    }
    return data + directory + end + little(0, 2);
}

} // namespace ordo::test
