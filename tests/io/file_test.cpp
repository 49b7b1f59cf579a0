// SPDX-License-Identifier: MIT
#include "io/file.h"

#include "io/base_name.h"
#include "tests/temp_dir.h"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace ordo;
using namespace ordo::test;

std::string refusal(const std::filesystem::path& path) {
    try {
        File{path};
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::io);
        return error.what();
    }
    return "accepted";
}

TEST(FileReading, ReadsAnyPart) {
    const TempDir dir;
    put_file(dir / "f", "0123456789");
    std::filesystem::create_symlink(dir / "f", dir / "link");
    const File file(dir / "link");
    EXPECT_EQ(file.size(), 10u);
    std::string part(4, ' ');
    file.read(3, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, "3456");
    EXPECT_EQ(read_file(dir / "f", 10), "0123456789");
    try {
        read_file(dir / "f", 9);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::limit);
    }
}

TEST(FileReading, RefusesWhatIsNotARegularFileWithoutOpeningIt) {
    const TempDir dir;
    ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(refusal(dir / "pipe"),
              (dir / "pipe").string() + ": expected a regular file, found a pipe"); // opening it would block
    EXPECT_EQ(refusal(dir.path()), dir.path().string() + ": expected a regular file, found a directory");
    EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: expected a regular file, found a device");
    EXPECT_NE(refusal(dir / "none").find("No such file"), std::string::npos);
    EXPECT_NE(refusal("").find("No such file"), std::string::npos);
    std::filesystem::create_symlink(dir / "loop", dir / "loop");
    EXPECT_NE(refusal(dir / "loop").find("symbolic links"), std::string::npos);
    EXPECT_NE(refusal(dir / std::string(5000, 'x')).find("too long"), std::string::npos);
    EXPECT_NE(refusal(dir / "a\x1b[31m\nb").find("a\\x1b[31m\\x0ab: "), std::string::npos);

    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = (dir / "s").string();
    ASSERT_LT(name.size(), sizeof address.sun_path);
    name.copy(address.sun_path, name.size());
    const Descriptor socket_fd(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(refusal(name), name + ": expected a regular file, found a socket");

    if (geteuid() != 0) { // root can read everything
        put_file(dir / "secret", "x");
        ASSERT_EQ(chmod((dir / "secret").c_str(), 0), 0);
        EXPECT_NE(refusal(dir / "secret").find("Permission denied"), std::string::npos);
    }
}

TEST(FileReading, AFileThatShrinksIsAnError) {
    const TempDir dir;
    put_file(dir / "f", std::string(100'000, 'x'));
    const File file(dir / "f");
    std::filesystem::resize_file(dir / "f", 50'000);
    std::string part(100'000, ' ');
    try {
        file.read(0, std::as_writable_bytes(std::span(part)));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::io);
        EXPECT_NE(std::string(error.what()).find("ends at byte 50000 although it had 100000"), std::string::npos);
    }
}

TEST(FileReading, SurvivesInterruptionsAndShortReads) {
    static int calls;
    calls = 0;
    FileCalls tricky = system_calls;
    tricky.pread = [](int fd, void* to, std::size_t n, off_t offset) -> ssize_t {
        if (++calls % 2 == 0) {
            errno = EINTR;
            return -1;
        }
        return ::pread(fd, to, std::min<std::size_t>(n, 3), offset);
    };
    const TempDir dir;
    put_file(dir / "f", "0123456789");
    std::string all(10, ' ');
    File(dir / "f", tricky).read(0, std::as_writable_bytes(std::span(all)));
    EXPECT_EQ(all, "0123456789");
    EXPECT_EQ(calls, 7); // 3 + 3 + 3 + 1, each except the last interrupted once

    tricky.pread = [](int, void*, std::size_t, off_t) -> ssize_t {
        errno = EIO;
        return -1;
    };
    try {
        File(dir / "f", tricky).read(4, std::as_writable_bytes(std::span(all).first(2)));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::io);
        EXPECT_NE(std::string(error.what()).find("reading at byte 4: Input/output error"), std::string::npos);
    }
}

// ---- Two names of one file ------------------------------------------------------------------

TEST(SameFile, IsFoundThroughLinksOfBothKindsAndBeforeItIsThere) {
    const TempDir dir;
    std::filesystem::create_directory(dir / "d");
    std::filesystem::create_directory_symlink("d", dir / "e");
    put_file(dir / "f", "x");
    put_file(dir / "g", "x");
    std::filesystem::create_hard_link(dir / "f", dir / "d" / "hard");
    std::filesystem::create_symlink("../f", dir / "d" / "soft");
    for (const auto& other : {dir / "f", dir / "." / "f", dir / "d" / ".." / "f", dir / "d" / "hard",
                              dir / "e" / "hard", dir / "e" / "soft"}) {
        EXPECT_TRUE(same_file(dir / "f", other)) << other;
        EXPECT_FALSE(same_file(dir / "g", other)) << other;
    }
    std::filesystem::create_symlink("e/new", dir / "dangling");
    EXPECT_TRUE(same_file(dir / "d" / "new", dir / "e" / "new"));
    EXPECT_TRUE(same_file(dir / "d" / "new", dir / "dangling"));
    EXPECT_FALSE(same_file(dir / "d" / "newer", dir / "dangling"));
    EXPECT_FALSE(same_file(dir / "new", dir / "dangling"));
    EXPECT_FALSE(same_file(dir / "no" / "new", dir / "dangling"));
    EXPECT_TRUE(same_file("new", "./new"));
    EXPECT_FALSE(same_file("new", dir / "new"));
}

TEST(FileNames, AreThoseOfTheLastPartThatNamesSomething) {
    const std::pair<const char*, const char*> names[] = {
        {"a", "a"},          {"a/", "a"},      {"a//", "a"},    {"a/b.bin", "b.bin"}, {"a/b/.", "b"},
        {"a/b/..", "a"},     {"a/../b/", "b"}, {"/", "/"},      {"/a.b/", "a.b"},     {"..a", "..a"},
        {"a/b.c/../d", "d"}, {"a/.b", ".b"},   {"a/.b/", ".b"},
    };
    for (const auto& [path, name] : names) EXPECT_EQ(base_name(path), name) << path;
    const std::filesystem::path here = std::filesystem::current_path(), above = here.parent_path();
    EXPECT_EQ(base_name("."), here.has_filename() ? here.filename() : "."); // the root has no name
    EXPECT_EQ(base_name(".."), above.has_filename() ? above.filename() : "..");
}

} // namespace
