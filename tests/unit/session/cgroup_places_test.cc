#include "controller/session/cgroup_places.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/folder.h"

namespace causalctl::session {
namespace {

const char* const kHybrid =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 master:2 - cgroup2 cgroup2 rw\n";

const char* const kUnified = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

std::vector<std::string> folders_meant(std::string_view path, const char* mountinfo) {
  std::vector<std::string> folders;
  for (const Cgroup& each : cgroups_meant(path, parse_hierarchies(mountinfo))) {
    folders.push_back(each.folder());
  }
  return folders;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Hierarchies of cgroups are read from mountinfo", "[process_set]") {
  const auto found = parse_hierarchies(kHybrid);
  REQUIRE(found.size() == 4);
  CHECK(found[0] == CgroupHierarchy{"/sys/fs/cgroup/unified", "/", "rw", true});
  CHECK(found[1].options == "rw,xattr,name=systemd");
  CHECK(found[2].place == "/sys/fs/cgroup/memory");
  CHECK_FALSE(found[2].is_version_2);
  CHECK(parse_hierarchies("1 2 0:3 / /a\\040b rw - cgroup2 cgroup2 rw\n")[0].place == "/a b");
  CHECK(parse_hierarchies("").empty());
}

TEST_CASE("A path below /sys/fs/cgroup means one cgroup", "[process_set]") {
  CHECK(folders_meant("/sys/fs/cgroup/system.slice/a.service/", kUnified) ==
        Texts{"/sys/fs/cgroup/system.slice/a.service"});
  CHECK(folders_meant("/sys/fs/cgroup/memory/x", kHybrid) == Texts{"/sys/fs/cgroup/memory/x"});
  CHECK(folders_meant("/sys/fs/cgroup/memory", kHybrid) == Texts{"/sys/fs/cgroup/memory"});
  CHECK(folders_meant("/sys/fs/cgroup/memory/../cpu,cpuacct/x", kHybrid) ==
        Texts{"/sys/fs/cgroup/cpu,cpuacct/x"});
}

TEST_CASE("A path of /proc/PID/cgroup means a cgroup in each hierarchy", "[process_set]") {
  CHECK(folders_meant("/system.slice/a.service", kUnified) ==
        Texts{"/sys/fs/cgroup/system.slice/a.service"});
  CHECK(folders_meant("/x", kHybrid) == Texts{"/sys/fs/cgroup/unified/x",
                                              "/sys/fs/cgroup/systemd/x", "/sys/fs/cgroup/memory/x",
                                              "/sys/fs/cgroup/cpu,cpuacct/x"});
}

TEST_CASE("A relative path begins at /sys/fs/cgroup or at a hierarchy", "[process_set]") {
  CHECK(folders_meant("system.slice/a.service", kUnified) ==
        Texts{"/sys/fs/cgroup/system.slice/a.service"});
  CHECK(folders_meant("../x/./y//", kUnified) == Texts{"/sys/fs/cgroup/x/y"});
  const Texts hybrid = folders_meant("memory/x", kHybrid);
  REQUIRE(hybrid.size() == 5);
  CHECK(hybrid[0] == "/sys/fs/cgroup/memory/x");
  CHECK(hybrid[1] == "/sys/fs/cgroup/unified/memory/x");
}

TEST_CASE("Where a part of a hierarchy is mounted paths are those of the whole", "[process_set]") {
  const char* const container = "50 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
  const auto meant = cgroups_meant("/docker/ab/x", parse_hierarchies(container));
  REQUIRE(meant.size() == 1);
  CHECK(meant[0].folder() == "/sys/fs/cgroup/x");
  CHECK(meant[0].path == "/docker/ab/x");
  CHECK(cgroups_meant("/sys/fs/cgroup/x", parse_hierarchies(container)) == meant);
  CHECK(cgroups_meant("x", parse_hierarchies(container)) == meant);
}

TEST_CASE("A symbolic link to a hierarchy is followed", "[process_set]") {
  const test::Folder folder;
  const std::string top = std::filesystem::canonical(folder.file(".")).string();
  std::filesystem::create_directories(top + "/cpu,cpuacct/x");
  std::filesystem::create_symlink("cpu,cpuacct", top + "/cpu");
  const std::vector<CgroupHierarchy> found = {{top + "/cpu,cpuacct", "/", "rw,cpu", false}};
  const auto meant = cgroups_called(top + "/cpu/x/", found);
  REQUIRE(meant.size() == 1);
  CHECK(meant[0].path == "/x");
  CHECK(meant[0].folder() == top + "/cpu,cpuacct/x");
  CHECK(cgroups_called("/x", found) == cgroups_meant("/x", found));
}

TEST_CASE("A process is in its cgroup and in those above", "[process_set]") {
  const auto in = [](std::string_view text, std::string_view path, const char* mountinfo) {
    return is_in_cgroup(text, cgroups_meant(path, parse_hierarchies(mountinfo)).front());
  };
  const char* const text = "0::/system.slice/a.service/b\n";
  CHECK(in(text, "/system.slice/a.service", kUnified));
  CHECK(in(text, "/system.slice/a.service/b", kUnified));
  CHECK(in(text, "/", kUnified));
  CHECK_FALSE(in(text, "/system.slice/a.serv", kUnified));
  CHECK_FALSE(in("", "/", kUnified));
  const char* const both = "4:memory:/x/y\n3:cpu,cpuacct:/\n1:name=systemd:/z\n0::/\n";
  CHECK(in(both, "/sys/fs/cgroup/memory/x", kHybrid));
  CHECK_FALSE(in(both, "/sys/fs/cgroup/cpu,cpuacct/x", kHybrid));
  CHECK_FALSE(in(both, "/sys/fs/cgroup/unified/x", kHybrid));
  CHECK(in(both, "/sys/fs/cgroup/systemd/z", kHybrid));
}

TEST_CASE("A unit is named with or without its suffix", "[process_set]") {
  CHECK(unit_name("nginx") == "nginx.service");
  CHECK(unit_name("nginx.service") == "nginx.service");
  CHECK(unit_name("session-2.scope") == "session-2.scope");
  CHECK(unit_name("getty@tty1") == "getty@tty1.service");
  CHECK(unit_name("org.gnome") == "org.gnome.service");
  CHECK(unit_glob("getty@tty1.service") == "getty@tty1.service");
  CHECK(unit_glob("getty@.service") == "getty@*.service");
  CHECK(is_unit_without_cgroup("backup.timer"));
  CHECK(is_unit_without_cgroup("multi-user.target"));
  CHECK_FALSE(is_unit_without_cgroup("backup.service"));
  CHECK_FALSE(is_unit_without_cgroup("timer"));
}

TEST_CASE("A hyphen that systemd has escaped is part of a unit's name", "[process_set]") {
  const std::string glob = unit_glob("my\\x2dapp@.service");
  const std::set<std::string> parents = {"/system.slice"};
  CHECK(is_in_unit("0::/system.slice/my\\x2dapp@1.service\n", glob, parents));
  CHECK_FALSE(is_in_unit("0::/system.slice/myx2dapp@1.service\n", glob, parents));
  CHECK(is_in_unit("0::/system.slice/a\\x2db.service\n", unit_glob("a\\x2db.service"), parents));
}

TEST_CASE("A process is in a unit if a part of its path is, below the right cgroup",
          "[process_set]") {
  const auto in = [](std::string_view text, const std::string& glob) {
    return is_in_unit(text, glob,
                      {"/system.slice", "/user.slice/user@1.service/app.slice",
                       "/system.slice/system-getty.slice"});
  };
  CHECK(in("0::/system.slice/nginx.service\n", "nginx.service"));
  CHECK(in("0::/user.slice/user@1.service/app.slice/x.service/y\n", "x.service"));
  CHECK(in("1:name=systemd:/system.slice/nginx.service\n0::/\n", "nginx.service"));
  CHECK(in("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@*.service"));
  CHECK_FALSE(in("0::/system.slice/my-nginx.service\n", "nginx.service"));
  CHECK_FALSE(in("4:memory:/system.slice/nginx.service\n0::/\n", "nginx.service"));
  CHECK_FALSE(in("0::/system.slice/docker-1.scope/system.slice/nginx.service\n", "nginx.service"));
  CHECK_FALSE(in("0::/nginx.service\n", "nginx.service"));
  CHECK(is_in_unit("0::/nginx.service\n", "nginx.service", {""}));
}

TEST_CASE("The system's unit comes before those of users and of containers", "[process_set]") {
  const CgroupHierarchy hierarchy = parse_hierarchies(kUnified).front();
  const auto cgroup = [&](const std::string& path) { return Cgroup{hierarchy, path}; };
  const Cgroup systems = cgroup("/system.slice/system-a.slice/a@1.service");
  const Cgroup users = cgroup("/user.slice/user-7.slice/user@7.service/app.slice/a@1.service");
  const Cgroup other_users =
      cgroup("/user.slice/user-8.slice/user@8.service/app.slice/a@1.service");
  const Cgroup containers = cgroup("/system.slice/docker-12ab.scope/system.slice/a@1.service");
  const Cgroup in_payload = cgroup("/lxc.payload.x/user.slice/user@7.service/a@1.service");
  const Cgroup in_users = cgroup("/user.slice/user@7.service/user.slice/c.scope/a@1.service");
  CHECK(of_nearest_manager({}).empty());
  CHECK(of_nearest_manager({containers, users, systems}) == std::vector{systems});
  CHECK(of_nearest_manager({containers, other_users, users}) == std::vector{other_users, users});
  CHECK(of_nearest_manager({containers, in_payload, in_users}).size() == 3);
  CHECK(of_nearest_manager({cgroup("/a.service")}).size() == 1);
  CHECK(paths_of_namesakes({systems}).empty());
  CHECK(paths_of_namesakes({systems, cgroup("/system.slice/system-a.slice/a@2.service")}).empty());
  Cgroup in_systemds = systems;  // the same cgroup in a second hierarchy
  in_systemds.hierarchy.is_version_2 = false;
  CHECK(paths_of_namesakes({systems, in_systemds}).empty());
  CHECK(paths_of_namesakes({users, other_users}) == Texts{users.path, other_users.path});
}

TEST_CASE("The hierarchies of this machine have this process", "[process_set]") {
  const auto here = hierarchies();
  if (here.empty()) return;  // none is mounted
  for (const Cgroup& root : cgroups_meant("/", here)) {
    CAPTURE(root.folder());
    CHECK(is_there(root));
  }
  CHECK_FALSE(is_there({here.front(), "/there-is-no-such-cgroup"}));
  CHECK(processes_in({{here.front(), "/there-is-no-such-cgroup"}}).empty());
}

}  // namespace causalctl::session
