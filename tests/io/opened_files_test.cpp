// SPDX-License-Identifier: MIT
#include "io/opened_files.h"

#include "io/atomic_file.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>
#include <span>
#include <string_view>
#include <sys/stat.h>

namespace {

using namespace ordo;
using namespace ordo::test;

TEST(OpenedFiles, AreNotReplacedUnderAnyName) {
    const TempDir dir;
    put_file(dir / "f", "old");
    put_file(dir / "other", "old");
    std::filesystem::create_symlink("f", dir / "link");
    std::filesystem::create_hard_link(dir / "f", dir / "hard");
    const auto expect_refused = [&] {
        for (const char* name : {"f", "link", "hard"}) {
            try {
                write_file(dir / name, "new");
                ADD_FAILURE() << name;
            } catch (const Error& error) {
                EXPECT_EQ(error.code, ErrorCode::usage);
                EXPECT_EQ(error.what(), (dir / name).string() +
                                            ": expected another file than those that are read, found one of them");
            }
        }
    };
    {
        const OpenedFiles opened;
        File{dir / "f"}; // closed again
        expect_refused();
        {
            const OpenedFiles apart;
            File{dir / "other"};
            expect_refused();
        }
        write_file(dir / "other", "new");
        write_file(dir / "link", "new", Links::replace); // replaces the link, not its target
        EXPECT_EQ(file_content(dir / "f"), "old");
    }
    write_file(dir / "f", "new");
    EXPECT_EQ(file_content(dir / "f"), "new");
}

// The inode of a deleted file returns with a new file.
TEST(OpenedFiles, ForgetTheInodeOfANewFile) {
    const TempDir dir;
    const OpenedFiles opened;
    FileCalls calls = system_calls;
    calls.open_unnamed = [](const char* directory) {
        const int fd = system_calls.open_unnamed(directory);
        if (struct stat read{}; ::fstat(fd, &read) == 0) OpenedFiles::note(read);
        return fd;
    };
    for (const char* content : {"first", "second"}) {
        AtomicFile file(dir / "f", calls);
        file.write(std::as_bytes(std::span(std::string_view(content))));
        file.commit();
        EXPECT_EQ(file_content(dir / "f"), content);
    }
}

} // namespace
