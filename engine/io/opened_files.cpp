// SPDX-License-Identifier: MIT
#include "io/opened_files.h"

#include <mutex>

namespace ordo {
namespace {

std::mutex guard;
OpenedFiles* newest = nullptr;

} // namespace

OpenedFiles::OpenedFiles() {
    const std::lock_guard lock(guard);
    before_ = newest;
    newest = this;
}

OpenedFiles::~OpenedFiles() {
    const std::lock_guard lock(guard);
    newest = before_;
}

void OpenedFiles::note(const struct stat& file) {
    const std::lock_guard lock(guard);
    if (newest != nullptr) newest->files_.emplace(file.st_dev, file.st_ino);
}

void OpenedFiles::forget(const struct stat& file) {
    const std::lock_guard lock(guard);
    for (OpenedFiles* each = newest; each != nullptr; each = each->before_)
        each->files_.erase({file.st_dev, file.st_ino});
}

bool OpenedFiles::contain(const struct stat& file) {
    const std::lock_guard lock(guard);
    for (const OpenedFiles* each = newest; each != nullptr; each = each->before_)
        if (each->files_.contains({file.st_dev, file.st_ino})) return true;
    return false;
}

} // namespace ordo
