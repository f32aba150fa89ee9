// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// See instrument.c. Include it after Valgrind's headers.
#pragma once

// Returns the block at `start` with the calls that tell of what it does.
IRSB* inputs_instrument(const IRSB* in, const VexGuestLayout* layout, Addr start,
                        Bool aprof_compatible);
