// Loads a BPF object: programs and the memory that they share with us, which ends with this object.
// bpftool makes a Skeleton of each controller/perf/bpf/*.bpf.c.
#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>

#include "controller/base/error.h"
#include "controller/base/fd.h"

struct bpf_map;  // of libbpf

namespace causalctl::perf {

// Throws Error with a hint if a call of libbpf has failed, with a negative errno.
void throw_if_failed(int result, const char* call);
// The same for the loading of programs, which takes the kernel's description of its types.
void throw_if_not_loaded(int result);
Error no_kernel_types();
void silence_libbpf();  // it writes to standard error otherwise
// Lets an object that is not loaded yet have the map of this descriptor in place of its own.
void share_map(bpf_map* map, int descriptor);
std::size_t all_cores();                               // those that may come online later as well
void set_map_size(bpf_map* map, std::size_t entries);  // of an object that is not loaded yet
Mapping memory_of_map(int descriptor, std::size_t bytes);  // of an array that can be mapped
template <typename T>
std::span<T> span_of(const Mapping& mapping) {
  return {reinterpret_cast<T*>(mapping.data()), mapping.size() / sizeof(T)};
}

template <typename Skeleton>
class BpfObject {
 public:
  // Opens the object, of which nothing is in the kernel yet: constants and sizes can be set.
  BpfObject() {
    silence_libbpf();
    object_.reset(Skeleton::open(nullptr));
    throw_if_failed(object_ ? 0 : -errno, "opening of a BPF object");
  }
  void load() { throw_if_not_loaded(Skeleton::load(object_.get())); }
  void attach() { throw_if_failed(Skeleton::attach(object_.get()), "bpf(BPF_LINK_CREATE)"); }

  Skeleton& operator*() const { return *object_; }
  Skeleton* operator->() const { return object_.get(); }

 private:
  struct Destroy {
    void operator()(Skeleton* object) const { Skeleton::destroy(object); }
  };
  std::unique_ptr<Skeleton, Destroy> object_;
};

}  // namespace causalctl::perf
