// Finds the image, and the place in it, of what was counted by address. Pure, but for what it is
// given to look into files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/continuous/collect/file_keeper.h"
#include "controller/continuous/collect/kernel_code.h"
#include "controller/continuous/collect/process_maps.h"
#include "controller/continuous/record/counts.h"
#include "controller/perf/core_counts.h"

namespace causalctl::continuous {

struct ImageSources {
  // Returns the build-id of the file that the process has, or had, mapped there, in hexadecimal;
  // empty if it has none or cannot be read.
  std::function<std::string(Pid process, const ProcessMaps::Found& found)> build_id;
  // Returns the name of code that the process has made at the address; empty if it has given none.
  std::function<std::string(Pid process, Address address)> compiled;
  // Returns the names that the database has of the image already.
  std::function<Names(const Image& image)> names;
};

class ImageTable {
 public:
  ImageTable(KernelCode kernel, ImageSources sources)
      : kernel_(std::move(kernel)), sources_(std::move(sources)) {}

  // Returns whether it takes the mappings of its process to know where that was.
  bool needs_maps(const perf::CountedPlace& counted) const;
  // Adds what was counted to the profile of each image, with the label. Returns the samples whose
  // code is not known.
  std::uint64_t add(const std::vector<perf::CountedPlace>& counted, const ProcessMaps& maps,
                    const std::string& label, Profile& profile);
  // Returns names that were found since the last call: of functions of the kernel, and of code that
  // programs have made.
  std::map<Image, Names> take_names();
  // Names that were taken are to be taken again, also those that the database had before.
  void tell_names_again();
  // Returns the files that were met for the first time since the last call.
  std::vector<NewFile> take_new_files() { return std::exchange(new_files_, {}); }
  // Modules have come or gone.
  void set_kernel(KernelCode kernel) { kernel_ = std::move(kernel); }

 private:
  struct Place {
    Image image;
    Address offset = 0;
  };

  bool find(const perf::CountedPlace& counted, const ProcessMaps& maps, Place& place);
  Place in_kernel(Address address);
  Place in_file(const std::string& build_id, Address offset, const ProcessMaps& maps,
                const perf::CountedPlace& counted);
  ProcessMaps::Found mapping_of(const std::string& build_id, const ProcessMaps& maps,
                                const perf::CountedPlace& counted);
  void meet(const Image& image, Pid process, const ProcessMaps::Found& found);
  const std::string& build_id_of(Pid process, const ProcessMaps::Found& found);
  bool in_memory(const perf::CountedPlace& counted, const ProcessMaps& maps, Place& place);
  Place compiled(const std::string& program, const std::string& name);
  struct Compiled {  // code of one program, by name
    std::map<std::string, Address> offsets;
    Address next = 0;
  };
  Compiled& compiled_of(const std::string& program, const Image& image);

  KernelCode kernel_;
  ImageSources sources_;
  std::map<std::string, std::string> path_of_;  // by build-id
  std::vector<NewFile> new_files_;
  std::map<std::tuple<Pid, Address, std::uint64_t>, std::string> build_id_of_;  // by process,
                                                                                // place and inode
  std::map<std::string, Compiled> compiled_;                                    // by program
  std::map<Image, Names> fresh_names_;
  std::map<Image, Names> kernel_names_;  // that were told
};

}  // namespace causalctl::continuous
