// SPDX-License-Identifier: MIT
// Floats that own their memory, and the views into it.
#pragma once

#include "core/memory.h"
#include "rows.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace ordo {

inline View view(float* data, int rows, int cols) {
    return {data, rows, cols, cols};
}
inline View rows_of(View v, int first, int count) {
    return {v.row(first), count, v.cols, v.stride};
}
inline View cols_of(View v, int first, int count) {
    return {v.data + first, v.rows, count, v.stride};
}
// The distance between rows of at least cols floats: an odd number of cache lines. With a power of two, rows would
// share a few sets of a cache.
inline int row_distance(int cols) {
    return ((cols + 15) / 16 | 1) * 16;
}

// The first contents of a buffer. For memory that is written before it is read, any contents do.
enum class Contents { zeros, any };

// A 64-byte aligned array that does not grow. Large ones come straight from the system.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t size, Contents contents = Contents::zeros) : size_(size) {
        if (size == 0) return;
        if (size > (std::numeric_limits<std::size_t>::max() - 64) / sizeof(T)) throw std::bad_alloc();
        if (MemoryCount::add(size * sizeof(T))) {
            data_ = {reinterpret_cast<T*>(alignof(std::max_align_t)), Free{.counted = true}};
            return;
        }
        const std::size_t bytes = (size * sizeof(T) + 63) / 64 * 64;
        const bool any = contents == Contents::any;
        if (bytes >= least_mapped) {
            data_ = {static_cast<T*>(any ? map_any(bytes) : map_zeros(bytes)), Free{bytes, any}};
        } else {
            data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
            if (!data_) throw std::bad_alloc();
            if (!any) std::memset(static_cast<void*>(data_.get()), 0, bytes);
        }
        if (any && any_is_nan) std::memset(static_cast<void*>(data_.get()), 0xff, bytes);
    }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_.get()[i]; }
    const T& operator[](std::size_t i) const { return data_.get()[i]; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    operator std::span<T>() { return {data(), size_}; }
    operator std::span<const T>() const { return {data(), size_}; }

private:
    struct Free {
        std::size_t mapped = 0; // bytes; 0: from the heap
        bool any = false;       // of map_any()
        bool counted = false;   // no memory was taken
        void operator()(T* p) const {
            if (mapped != 0)
                any ? keep_mapped(p, mapped) : unmap(p, mapped);
            else if (!counted)
                std::free(p);
        }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t size_ = 0;
};

// A matrix [rows, cols] that owns its memory.
class Tensor {
public:
    Tensor() = default;
    Tensor(int rows, int cols)
        : buffer_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)), rows_(rows), cols_(cols) {}

    View view() { return {buffer_.data(), rows_, cols_, cols_}; }
    View view(int rows) { return {buffer_.data(), rows, cols_, cols_}; } // the first rows
    float* data() { return buffer_.data(); }
    const float* data() const { return buffer_.data(); }
    std::size_t size() const { return buffer_.size(); }
    int rows() const { return rows_; }
    int cols() const { return cols_; }

private:
    Buffer<float> buffer_;
    int rows_ = 0;
    int cols_ = 0;
};

} // namespace ordo
