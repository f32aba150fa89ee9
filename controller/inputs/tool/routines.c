// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Finds which routine begins at an address. A routine is known by its file and the place of its
// first instruction in it. Its name is found later, by another program.
//
// The answers are kept in a table by address. When code is unmapped, they are all forgotten,
// because other code may come to the same addresses.
#include <pub_tool_basics.h>
//
#include <pub_tool_aspacemgr.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
//
#include "controller/inputs/tool/inputs_tool.h"

typedef struct {
  Addr address;  // 0: none
  struct InputsPlace place;
} Entry;

typedef struct {
  HChar* path;
  Bool is_loader;
} Module;

static Entry* table;  // open addressing, at most half full
static SizeT table_size;
static SizeT table_used;
static Bool had_unmapped;     // code
static Addr lowest, highest;  // of the addresses in the table

static Module* modules;
static UInt modules_used, modules_room;
static struct InputsRoutine* routines;  // that of number 1 comes first
static UInt routines_used, routines_room;

static void* room_for(void* items, UInt used, UInt* room, SizeT size) {
  if (used < *room) return items;
  *room = *room == 0 ? 256 : 2 * *room;
  return VG_(realloc)("inputs.list", items, *room * size);
}

static const HChar kAnonymous[] = "[anonymous]";

static Bool names_loader(const HChar* path) {
  const HChar* slash = VG_(strrchr)(path, '/');
  const HChar* name = slash == NULL ? path : slash + 1;
  return VG_(strncmp)(name, "ld-linux", 8) == 0 || VG_(strncmp)(name, "ld-2.", 5) == 0;
}

static UInt module_of(const HChar* path) {
  for (UInt i = modules_used; i-- > 0;) {
    if (VG_(strcmp)(modules[i].path, path) == 0) return i;
  }
  modules = room_for(modules, modules_used, &modules_room, sizeof(Module));
  modules[modules_used].path = VG_(strdup)("inputs.module", path);
  modules[modules_used].is_loader = names_loader(path);
  return modules_used++;
}

// Returns the path of the file that is mapped at the address, or NULL.
static const HChar* file_at(Addr address, ULong* offset) {
  const NSegment* segment = VG_(am_find_nsegment)(address);
  if (segment == NULL || segment->kind != SkFileC) return NULL;
  *offset = address - segment->start + (ULong)segment->offset;
  return VG_(am_get_filename)(segment);
}

// Returns the number of a new routine.
static UInt new_routine(Addr address) {
  ULong offset = address;
  const HChar* path = file_at(address, &offset);
  const UInt module = module_of(path == NULL ? kAnonymous : path);
  for (UInt i = 0; i < routines_used && had_unmapped; ++i) {  // it may have been there before
    if (routines[i].offset == offset && routines[i].module == module) return i + 1;
  }
  routines = room_for(routines, routines_used, &routines_room, sizeof(struct InputsRoutine));
  routines[routines_used].module = module;
  routines[routines_used].offset = offset;
  return ++routines_used;
}

static struct InputsPlace look_up(Addr address) {
  struct InputsPlace place = {kNoRoutine, False, False};
  const HChar* name = NULL;
  place.is_plt = VG_(DebugInfo_sect_kind)(NULL, address) == Vg_SectPLT;
  place.is_entry = VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), address, &name);
  return place;
}

static SizeT place_in_table(Addr address) {
  SizeT at = (SizeT)(address * 0x9e3779b97f4a7c15ULL >> 20U) & (table_size - 1);
  while (table[at].address != 0 && table[at].address != address) at = (at + 1) & (table_size - 1);
  return at;
}

static void grow_table(void) {
  Entry* const old = table;
  const SizeT old_size = table_size;
  table_size = old_size == 0 ? 4096 : 2 * old_size;
  table = VG_(calloc)("inputs.places", table_size, sizeof(Entry));
  for (SizeT i = 0; i < old_size; ++i) {
    if (old[i].address != 0) table[place_in_table(old[i].address)] = old[i];
  }
  VG_(free)(old);
}

const struct InputsPlace* inputs_place(uint64_t address) {
  if (2 * (table_used + 1) > table_size) grow_table();
  Entry* const entry = &table[place_in_table(address)];
  if (entry->address != address) {
    entry->address = address;
    entry->place = look_up(address);
    if (table_used == 0 || address < lowest) lowest = address;
    if (table_used == 0 || address > highest) highest = address;
    ++table_used;
  }
  return &entry->place;
}

unsigned inputs_routine_at(uint64_t address) {
  struct InputsPlace* const place = (struct InputsPlace*)inputs_place(address);
  if (place->routine == kNoRoutine) place->routine = new_routine(address);
  return place->routine;
}

const struct InputsRoutine* inputs_routine(unsigned number) {
  return number == 0 || number > routines_used ? NULL : &routines[number - 1];
}

const char* inputs_module(unsigned index) {
  return index < modules_used ? modules[index].path : NULL;
}

int inputs_is_loader(uint64_t address) {
  ULong offset = 0;
  const HChar* path = file_at(address, &offset);
  return path != NULL && names_loader(path);
}

void inputs_unmapped(uint64_t address, uint64_t size) {
  if (table_used == 0 || address > highest || address + size <= lowest) return;
  Bool had_code = False;
  for (SizeT i = 0; i < table_size && !had_code; ++i) {
    const Addr known = table[i].address;
    had_code = known != 0 && known >= address && known - address < size;
  }
  if (!had_code) return;
  had_unmapped = True;
  VG_(memset)(table, 0, table_size * sizeof(Entry));
  table_used = 0;
}
