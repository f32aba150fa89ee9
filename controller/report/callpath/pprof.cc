// The format of pprof (github.com/google/pprof, proto/profile.proto), gzip-compressed. A location
// has a line for the function whose code it is and for each one that was inlined there; innermost
// first. A group of threads, a process and a program of a set are labels of their samples.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/fields.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

using protozero::pbf_writer;

// The numbers of the fields, by message.
namespace profile_field {
enum {
  sample_type = 1,
  sample,
  mapping,
  location,
  function,
  string_table,
  drop_frames,
  keep_frames,
  time_nanos,
  duration_nanos,
  period_type,
  period,
  comment,
  default_sample_type
};
}
namespace value_type_field {
enum { type = 1, unit };
}
namespace sample_field {
enum { location_id = 1, value, label };
}
namespace label_field {
enum { key = 1, str };
}
namespace mapping_field {
enum {
  id = 1,
  memory_start,
  memory_limit,
  file_offset,
  filename,
  build_id,
  has_functions,
  has_filenames,
  has_line_numbers,
  has_inline_frames
};
}
namespace location_field {
enum { id = 1, mapping_id, address, line };
}
namespace line_field {
enum { function_id = 1, line };
}
namespace function_field {
enum { id = 1, name, system_name, filename };
}

class Writer {
 public:
  explicit Writer(const Profile& profile)
      : profile_(profile),
        functions_(by_function(profile)),
        out_(bytes_),
        of_frame_(profile.frames.size()) {
    string("");
  }
  std::string write();

 private:
  std::int64_t string(const std::string& text);
  void value_type(int field, const std::string& type, const std::string& unit);
  void write_samples();
  void write_sample(std::uint32_t node);
  // Returns the number of a location; frames are innermost first.
  std::uint64_t location(const std::vector<std::uint32_t>& frames);
  std::uint64_t write_location(const std::vector<std::uint32_t>& frames, std::uint64_t id);
  void write_mappings();
  void write_functions();

  const Profile& profile_;
  Labels functions_;
  std::string bytes_;
  pbf_writer out_;
  std::vector<std::string> strings_;
  std::map<std::string, std::int64_t> string_numbers_;
  std::map<std::vector<std::uint32_t>, std::uint64_t> locations_;  // of several frames
  std::vector<std::uint64_t> of_frame_;  // those of one frame; 0: it has none yet
  std::uint64_t last_location_ = 0;
};

std::int64_t Writer::string(const std::string& text) {
  const auto [entry, is_new] =
      string_numbers_.emplace(text, static_cast<std::int64_t>(strings_.size()));
  if (is_new) strings_.push_back(text);
  return entry->second;
}

void Writer::value_type(int field, const std::string& type, const std::string& unit) {
  pbf_writer message(out_, static_cast<protozero::pbf_tag_type>(field));
  message.add_int64(value_type_field::type, string(type));
  message.add_int64(value_type_field::unit,
                    string(unit == "nanoseconds" || unit == "bytes" ? unit : "count"));
}

std::uint64_t Writer::location(const std::vector<std::uint32_t>& frames) {
  std::uint64_t& id = frames.size() == 1 ? of_frame_[frames.front()] : locations_[frames];
  if (id == 0) id = write_location(frames, ++last_location_);
  return id;
}

std::uint64_t Writer::write_location(const std::vector<std::uint32_t>& frames, std::uint64_t id) {
  const Frame& outermost = profile_.frames[frames.back()];
  const std::uint64_t mapping =
      outermost.module_number == kNoModule ? 0 : outermost.module_number + 1;
  pbf_writer message(out_, profile_field::location);
  message.add_uint64(location_field::id, id);
  message.add_uint64(location_field::mapping_id, mapping);
  message.add_uint64(location_field::address, outermost.offset);
  for (const std::uint32_t frame : frames) {
    pbf_writer line(message, location_field::line);
    line.add_uint64(line_field::function_id, functions_.of_frame[frame] + 1);
    line.add_int64(line_field::line, profile_.frames[frame].line);
  }
  return id;
}

void Writer::write_sample(std::uint32_t node) {
  std::vector<std::uint64_t> locations;
  std::vector<std::uint32_t> frames;
  std::map<std::string_view, std::string> groups;  // by the key of their label
  for (std::uint32_t at = node; at != 0; at = profile_.nodes[at].parent) {
    const std::uint32_t number = profile_.nodes[at].frame;
    const Frame& frame = profile_.frames[number];
    if (frame.is_group()) {
      groups[name_of(frame.stands)] = frame.function;
      continue;
    }
    frames.push_back(number);
    if (frame.inlined && profile_.nodes[at].parent != 0) continue;
    locations.push_back(location(frames));
    frames.clear();
  }
  std::vector<std::int64_t> values;
  for (const auto& column : profile_.own) values.push_back(static_cast<std::int64_t>(column[node]));
  pbf_writer message(out_, profile_field::sample);
  message.add_packed_uint64(sample_field::location_id, locations.begin(), locations.end());
  message.add_packed_int64(sample_field::value, values.begin(), values.end());
  for (const auto& [key, name] : groups) {
    pbf_writer label(message, sample_field::label);
    label.add_int64(label_field::key, string(std::string(key)));
    label.add_int64(label_field::str, string(name));
  }
}

void Writer::write_samples() {
  for (std::uint32_t node = 1; node < profile_.nodes.size(); ++node) {
    bool any = false;
    for (const auto& column : profile_.own) any = any || column[node] > 0;
    if (any) write_sample(node);
  }
}

void Writer::write_mappings() {
  std::vector<Address> end(profile_.modules.size(), 1);
  for (const Frame& frame : profile_.frames) {
    if (frame.module_number == kNoModule) continue;
    end[frame.module_number] = std::max(end[frame.module_number], frame.offset + 1);
  }
  for (std::size_t i = 0; i < profile_.modules.size(); ++i) {
    pbf_writer message(out_, profile_field::mapping);
    message.add_uint64(mapping_field::id, i + 1);
    message.add_uint64(mapping_field::memory_limit, end[i]);
    message.add_int64(mapping_field::filename, string(profile_.modules[i]));
    message.add_int64(mapping_field::build_id, string(profile_.build_ids[i]));
    // Otherwise pprof would look for the file and symbolize again.
    message.add_bool(mapping_field::has_functions, true);
    message.add_bool(mapping_field::has_filenames, true);
    message.add_bool(mapping_field::has_line_numbers, true);
    message.add_bool(mapping_field::has_inline_frames, true);
  }
}

void Writer::write_functions() {
  for (std::size_t i = 0; i < functions_.all.size(); ++i) {
    pbf_writer message(out_, profile_field::function);
    message.add_uint64(function_field::id, i + 1);
    message.add_int64(function_field::name, string(functions_.all[i].name));
    message.add_int64(function_field::system_name, string(functions_.all[i].name));
    message.add_int64(function_field::filename, string(file_of(functions_.all[i], profile_)));
  }
}

std::string Writer::write() {
  for (const Column& column : profile_.columns) {
    value_type(profile_field::sample_type, column.name, column.unit);
  }
  write_samples();
  write_mappings();
  write_functions();
  out_.add_int64(profile_field::time_nanos, profile_.started_ns);
  out_.add_int64(profile_field::duration_nanos, profile_.wall_ns);
  value_type(profile_field::period_type, "cpu", "nanoseconds");
  out_.add_int64(profile_field::period, profile_.period_ns);
  for (const std::string& note : profile_.notes) {
    out_.add_int64(profile_field::comment, string(note));
  }
  if (!profile_.columns.empty()) {
    out_.add_int64(profile_field::default_sample_type, string(profile_.columns.front().name));
  }
  for (const std::string& text : strings_) out_.add_string(profile_field::string_table, text);
  return std::move(bytes_);
}

std::string gzip(const std::string& bytes) {
  constexpr int kGzip = 15 + 16;  // window bits, with a header of gzip
  constexpr std::size_t kPiece = 1U << 20U;
  z_stream stream{};
  INVARIANT(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed;
  std::string piece(kPiece, '\0');
  int result = Z_OK;
  // The library counts what it is given by 32 bits.
  for (std::size_t begin = 0; result == Z_OK; begin += kPiece) {
    const std::size_t size = std::min(kPiece, bytes.size() - begin);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + begin));
    stream.avail_in = static_cast<uInt>(size);
    const bool is_last = begin + size == bytes.size();
    do {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      result = ::deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
      packed.append(piece, 0, piece.size() - stream.avail_out);
    } while (result == Z_OK && (is_last || stream.avail_in > 0 || stream.avail_out == 0));
    if (result == Z_BUF_ERROR) result = Z_OK;  // all was taken
  }
  ::deflateEnd(&stream);
  INVARIANT(result == Z_STREAM_END);
  return packed;
}

}  // namespace

std::string render_pprof(const Profile& profile) { return gzip(Writer(profile).write()); }

}  // namespace causalctl::report::callpath
