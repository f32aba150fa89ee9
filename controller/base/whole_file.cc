#include "controller/base/whole_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "controller/base/output_file.h"

namespace causalctl {

std::optional<std::string> read_whole(const Fd& file, std::size_t most) {
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most) return std::nullopt;
  std::string bytes(size, '\0');
  for (std::size_t read = 0; read < size;) {
    const ssize_t got =
        pread(file.get(), bytes.data() + read, size - read, static_cast<off_t>(read));
    if (got <= 0) return std::nullopt;
    read += static_cast<std::size_t>(got);
  }
  return bytes;
}

Fd memory_file(const char* name, std::string_view bytes) {
  Fd file(memfd_create(name, MFD_CLOEXEC));
  const int error = file ? write_all(file.get(), bytes) : errno;
  if (error == 0) return file;
  errno = error;
  return Fd();
}

}  // namespace causalctl
