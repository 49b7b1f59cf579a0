// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include "core/random.h"
#include "io/safetensors.h"
#include "tests/temp_dir.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace ordo;
using namespace ordo::test;

std::vector<std::string> names_in(const std::filesystem::path& directory) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

using Names = std::vector<std::string>;

unsigned mode_of(const std::filesystem::path& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

TEST(AtomicSave, ReplacesTheOldFileAtCommit) {
    const TempDir dir;
    put_file(dir / "f", "old");
    {
        AtomicFile file(dir / "f");
        file.write("ne");
        file.write(std::string(200'000, 'w'));
        EXPECT_EQ(file_content(dir / "f"), "old");
        file.commit();
    }
    EXPECT_EQ(file_content(dir / "f"), "ne" + std::string(200'000, 'w'));
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
    write_file(dir / "g", "");
    EXPECT_EQ(file_content(dir / "g"), "");
    EXPECT_TRUE(std::filesystem::exists(dir / "g"));
}

TEST(AtomicSave, LeavesNothingWithoutCommit) {
    const TempDir dir;
    put_file(dir / "f", "old");
    AtomicFile(dir / "f").write(std::string(200'000, 'x'));
    EXPECT_EQ(file_content(dir / "f"), "old");
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(AtomicSave, KeepsPermissionsAndFollowsLinks) {
    const TempDir dir;
    put_file(dir / "f", "old");
    ASSERT_EQ(chmod((dir / "f").c_str(), 0640), 0);
    std::filesystem::create_symlink("f", dir / "link");
    write_file(dir / "link", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
    EXPECT_EQ(file_content(dir / "f"), "new");
    EXPECT_EQ(mode_of(dir / "f"), 0640u);

    const mode_t mask = umask(027);
    write_file(dir / "fresh", "x");
    umask(mask);
    EXPECT_EQ(mode_of(dir / "fresh"), 0640u); // 0666 without the bits of the mask
}

TEST(AtomicSave, FollowsLinksThatLeadToNoFileYet) {
    const TempDir dir;
    std::filesystem::create_directory(dir / "d");
    std::filesystem::create_symlink("d/second", dir / "first");
    std::filesystem::create_symlink(dir / "f", dir / "d" / "second");
    write_file(dir / "first", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(dir / "first"));
    EXPECT_TRUE(std::filesystem::is_symlink(dir / "d" / "second"));
    EXPECT_FALSE(std::filesystem::is_symlink(dir / "f"));
    EXPECT_EQ(file_content(dir / "f"), "new");

    std::filesystem::create_symlink("round", dir / "circle");
    std::filesystem::create_symlink("circle", dir / "round");
    EXPECT_THROW(write_file(dir / "round", "x"), Error);
    EXPECT_EQ(names_in(dir.path()), (Names{"circle", "d", "f", "first", "round"}));
}

TEST(AtomicSave, ReplacesALinkRatherThanTheFileBehindIt) {
    const TempDir dir;
    put_file(dir / "theirs", "old");
    std::filesystem::create_symlink("theirs", dir / "link");
    std::filesystem::create_symlink("nowhere", dir / "dangling");
    std::filesystem::create_symlink("circle", dir / "circle");
    for (const char* name : {"link", "dangling", "circle"}) {
        write_file(dir / name, "new", Links::replace);
        EXPECT_FALSE(std::filesystem::is_symlink(dir / name)) << name;
        EXPECT_EQ(file_content(dir / name), "new") << name;
    }
    EXPECT_EQ(file_content(dir / "theirs"), "old");
    EXPECT_EQ(names_in(dir.path()), (Names{"circle", "dangling", "link", "theirs"}));
}

TEST(AtomicSave, RefusesTargetsThatAreNotFiles) {
    const TempDir dir;
    std::filesystem::create_directory(dir / "d");
    ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
    for (const auto& target : {dir / "d", dir / "pipe", std::filesystem::path("/dev/null"), dir / "no" / "f",
                               std::filesystem::path("/proc/f"), dir / "f" / ""}) {
        try {
            write_file(target, "x");
            FAIL() << target;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::io) << error.what();
            EXPECT_TRUE(std::string(error.what()).starts_with(target.string() + ": ")) << error.what();
        }
    }
    EXPECT_EQ(names_in(dir.path()), (Names{"d", "pipe"}));
    EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

// ---- Failures of the system -----------------------------------------------------------------

int calls_left; // calls of the tested kind until one fails

template <int code>
ssize_t failing_write(int fd, const void* from, std::size_t n) {
    if (calls_left-- > 0) return ::write(fd, from, std::min<std::size_t>(n, 1000));
    errno = code;
    return -1;
}
template <int code>
int failing_fsync(int) {
    errno = code;
    return -1;
}

// A file system without O_TMPFILE.
FileCalls named_only(FileCalls calls) {
    calls.open_unnamed = [](const char*) {
        errno = EOPNOTSUPP;
        return -1;
    };
    return calls;
}

void expect_untouched(const FileCalls& calls, int first_calls, const std::string& reason) {
    const TempDir dir;
    put_file(dir / "f", "old");
    calls_left = first_calls;
    try {
        AtomicFile file(dir / "f", calls);
        file.write(std::string(100'000, 'x'));
        file.write("tail");
        file.commit();
        FAIL() << reason;
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::io);
        EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    EXPECT_EQ(file_content(dir / "f"), "old");
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

class AtomicSaveOn : public testing::TestWithParam<bool> {
protected:
    FileCalls calls_ = GetParam() ? system_calls : named_only(system_calls);
};
INSTANTIATE_TEST_SUITE_P(FileSystems, AtomicSaveOn, testing::Bool(),
                         [](const auto& unnamed) { return unnamed.param ? "Unnamed" : "Named"; });

TEST_P(AtomicSaveOn, OldFileSurvivesEveryFailure) {
    FileCalls calls = calls_;
    calls.write = failing_write<ENOSPC>;
    for (const int first : {0, 1, 50, 99, 100}) expect_untouched(calls, first, "writing: No space left on device");
    calls.write = failing_write<EIO>;
    expect_untouched(calls, 3, "writing: Input/output error");
    calls.write = [](int, const void*, std::size_t) -> ssize_t { return 0; };
    expect_untouched(calls, 0, "writing: No space left on device");
    calls = calls_;
    calls.fsync = failing_fsync<EIO>;
    expect_untouched(calls, 0, "Input/output error");
    calls = calls_;
    calls.rename = [](const char*, const char*) {
        errno = EACCES;
        return -1;
    };
    expect_untouched(calls, 0, "renaming into place: Permission denied");
    if (!GetParam()) return;
    calls = calls_;
    calls.name = [](int, const char*) {
        errno = EACCES;
        return -1;
    };
    expect_untouched(calls, 0, "naming a temporary file beside it: Permission denied");
}

// The content is read back under a temporary name before it replaces the old file.
TEST_P(AtomicSaveOn, ContentThatFailsItsCheckIsDropped) {
    const TempDir dir;
    put_file(dir / "f", "old");
    for (const bool good : {false, true}) {
        AtomicFile file(dir / "f", calls_);
        file.write("new");
        try {
            file.commit([&](const std::filesystem::path& written) {
                EXPECT_EQ(file_content(written), "new");
                EXPECT_EQ(file_content(dir / "f"), "old");
                if (!good) throw Error(ErrorCode::model, "bad");
            });
            EXPECT_TRUE(good);
        } catch (const Error& error) {
            EXPECT_FALSE(good);
            EXPECT_EQ(error.what(), (dir / "f").string() + ": expected to write what can be read, found: bad");
        }
        EXPECT_EQ(file_content(dir / "f"), good ? "new" : "old");
    }
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST(AtomicSave, ShortAndInterruptedWritesAreFinished) {
    static int interrupted;
    interrupted = 0;
    FileCalls calls = system_calls;
    calls.write = [](int fd, const void* from, std::size_t n) -> ssize_t {
        if (++interrupted % 2 == 1) {
            errno = EINTR;
            return -1;
        }
        return ::write(fd, from, std::min<std::size_t>(n, 777));
    };
    calls.fsync = [](int fd) {
        if (++interrupted % 2 == 1) {
            errno = EINTR;
            return -1;
        }
        return ::fsync(fd);
    };
    std::string content;
    for (int i = 0; i < 30'000; ++i) content += std::to_string(i);
    const TempDir dir;
    AtomicFile file(dir / "f", calls);
    file.write(content);
    file.commit();
    EXPECT_TRUE(file_content(dir / "f") == content);
    EXPECT_GT(interrupted, 100);
}

TEST(AtomicSave, SyncsTheFileBeforeTheRenameAndTheDirectoryAfterwards) {
    static std::string order;
    order.clear();
    FileCalls calls = system_calls;
    calls.fsync = [](int fd) {
        struct stat status {};
        fstat(fd, &status);
        order += S_ISDIR(status.st_mode) ? "sync directory;" : "sync file;";
        return ::fsync(fd);
    };
    calls.rename = [](const char* from, const char* to) {
        order += "rename;";
        return ::rename(from, to);
    };
    const TempDir dir;
    AtomicFile file(dir / "f", calls);
    file.write("x");
    file.commit();
    EXPECT_EQ(order, "sync file;rename;sync directory;");
}

// ---- Leftovers ------------------------------------------------------------------------------

TEST_P(AtomicSaveOn, WhatIsNotCommittedHasNoNameOrOneMadeOfItsTargets) {
    const TempDir dir;
    AtomicFile file(dir / "f", calls_);
    file.write(std::string(200'000, 'x'));
    EXPECT_EQ(names_in(dir.path()), GetParam() ? Names{} : Names{".f.ordo-0.tmp"});
    AtomicFile other(dir / "f", calls_); // a second writer, independent of the first
    other.write("y");
    other.commit();
    EXPECT_EQ(file_content(dir / "f"), "y");
    file.commit();
    EXPECT_EQ(file_content(dir / "f"), std::string(200'000, 'x'));
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

TEST_P(AtomicSaveOn, LeftoversGoWithTheNextSave) {
    const TempDir dir;
    const std::string long_name(250, 'n');
    for (const char* left : {".f.ordo-0.tmp", ".f.ordo-3.tmp", ".f.ordo-15.tmp", ".g.ordo-0.tmp"})
        put_file(dir / left, "half");
    put_file(dir / ("." + long_name.substr(0, 200) + ".ordo-2.tmp"), "half");
    { const AtomicFile tried(dir / "f", calls_); }
    { const AtomicFile tried(dir / long_name, calls_); }
    EXPECT_EQ(names_in(dir.path()), Names{".g.ordo-0.tmp"}) << "no other target's";
    std::filesystem::create_symlink("g", dir / "link");
    remove_leftovers(dir / "link");
    EXPECT_EQ(names_in(dir.path()), Names{"link"});
}

TEST_P(AtomicSaveOn, AKilledWriterLeavesNothingForLong) {
    const TempDir dir;
    put_file(dir / "f", "old");
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        AtomicFile file(dir / "f", calls_);
        file.write(std::string(200'000, 'x'));
        if (write(started[1], "", 1) != 1) _exit(1);
        while (true) pause();
    }
    char byte = 1;
    ASSERT_EQ(read(started[0], &byte, 1), 1);
    const Names writing = GetParam() ? Names{"f"} : Names{".f.ordo-0.tmp", "f"};
    remove_leftovers(dir / "f");
    EXPECT_EQ(names_in(dir.path()), writing) << "its writer lives";
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_EQ(names_in(dir.path()), writing);
    remove_leftovers(dir / "f");
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
    EXPECT_EQ(file_content(dir / "f"), "old");
    for (const int end : started) close(end);
}

TEST(AtomicSave, SafetensorsSaveOverAnOldFileIsAllOrNothing) {
    const TempDir dir;
    const std::vector<float> values = {1, 2, 1e6f};
    write_safetensors(dir / "f", {{"a", {3}, WeightType::f32, values}}, {});
    const std::string old = file_content(dir / "f");
    // 1e6 does not fit f16, which is found while the data is written.
    EXPECT_THROW(write_safetensors(dir / "f", {{"a", {3}, WeightType::f16, values}}, {}), Error);
    EXPECT_EQ(file_content(dir / "f"), old);
    EXPECT_EQ(names_in(dir.path()), Names{"f"});
}

// ---- Killed at any time ---------------------------------------------------------------------

TEST(AtomicSave, AKilledSaveLeavesTheOldFileOrTheNew) {
    const TempDir dir;
    const std::vector<float> a(60'000, 1.0f), b(50'000, 2.0f);
    const auto save = [&](const std::filesystem::path& path, const std::vector<float>& values) {
        write_safetensors(path, {{"t", {static_cast<std::int64_t>(values.size())}, WeightType::f16, values}},
                          {{"which", values == a ? "a" : "b"}});
    };
    save(dir / "a", a);
    save(dir / "b", b);
    const std::string content_a = file_content(dir / "a"), content_b = file_content(dir / "b");
    ASSERT_NE(content_a, content_b);

    save(dir / "f", a);

    const Random random(11, 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    int kills = 0, saw_b = 0;
    for (; std::chrono::steady_clock::now() < end && kills < 300; ++kills) {
        int started[2];
        ASSERT_EQ(pipe(started), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            for (int i = 0;; ++i) {
                save(dir / "f", i % 2 == 0 ? b : a);
                if (i == 0 && write(started[1], "", 1) != 1) _exit(1);
            }
        }
        char byte = 1;
        EXPECT_EQ(read(started[0], &byte, 1), 1);
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(static_cast<std::uint64_t>(kills), 8000)));
        ASSERT_EQ(kill(child, SIGKILL), 0);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        close(started[0]);
        close(started[1]);
        const std::string content = file_content(dir / "f");
        const bool is_a = content == content_a, is_b = content == content_b;
        ASSERT_TRUE(is_a || is_b) << "after " << kills << " kills: " << content.size() << " bytes";
        saw_b += is_b;
    }
    EXPECT_GT(kills, 0);
    save(dir / "f", a); // also deletes the leftovers of the killed save
    EXPECT_EQ(file_content(dir / "f"), content_a);
    EXPECT_EQ(names_in(dir.path()), (Names{"a", "b", "f"}));
    RecordProperty("kills", kills);
    RecordProperty("new_content", saw_b);
}

} // namespace
