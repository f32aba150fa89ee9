// Lists and blocks of memory for code without a standard library.
//
// Memory, a parameter of the templates, has two static functions: `void* allocate(std::size_t)`
// returns zeroed memory or nullptr, and `void release(void*, std::size_t)` takes it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace causalctl::inputs::core {

// A list that grows. Elements that no one has set are zero, unless it was shrunk.
template <class Memory, class T>
class List {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  List() = default;
  ~List() { clear(); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  std::size_t size() const { return size_; }
  T& operator[](std::size_t at) { return items_[at]; }
  const T& operator[](std::size_t at) const { return items_[at]; }
  T& back() { return items_[size_ - 1]; }
  void shrink(std::size_t size) { size_ = size; }  // keeps the memory

  // Return false where there is no memory; the list is then as it was.
  [[nodiscard]] bool push(const T& item) {
    if (size_ == room_ && !reserve(size_ + 1)) return false;
    items_[size_++] = item;
    return true;
  }
  [[nodiscard]] bool grow(std::size_t size) {
    if (size > room_ && !reserve(size)) return false;
    if (size > size_) size_ = size;
    return true;
  }

  void clear() {
    if (items_ != nullptr) Memory::release(items_, room_ * kItemBytes);
    items_ = nullptr;
    size_ = room_ = 0;
  }

 private:
  static constexpr std::size_t kFirst = 16;
  static constexpr std::size_t kItemBytes = sizeof(T);  // NOLINT: also of pointers

  bool reserve(std::size_t wanted) {
    std::size_t room = room_ < kFirst ? kFirst : 2 * room_;
    if (room < wanted) room = wanted;
    auto* items = static_cast<T*>(Memory::allocate(room * kItemBytes));
    if (items == nullptr) return false;
    for (std::size_t i = 0; i < size_; ++i) items[i] = items_[i];
    if (items_ != nullptr) Memory::release(items_, room_ * kItemBytes);
    items_ = items;
    room_ = room;
    return true;
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

// Gives zeroed memory in pieces, and takes back all at once. A page that nobody touches costs
// nothing where Memory maps it.
template <class Memory>
class Arena {
 public:
  Arena() = default;
  ~Arena() { clear(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // REQUIRES: bytes <= kBlock, and a multiple of 16.
  void* allocate(std::size_t bytes) {
    if (bytes > left_) {
      void* block = Memory::allocate(kBlock);
      if (block == nullptr) return nullptr;
      if (!blocks_.push(static_cast<char*>(block))) {
        Memory::release(block, kBlock);
        return nullptr;
      }
      left_ = kBlock;
    }
    left_ -= bytes;
    return blocks_.back() + (kBlock - left_ - bytes);
  }

  void clear() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) Memory::release(blocks_[i], kBlock);
    blocks_.clear();
    left_ = 0;
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  List<Memory, char*> blocks_;
  std::size_t left_ = 0;
};

}  // namespace causalctl::inputs::core
