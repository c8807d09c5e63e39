// How engine time stands to the clocks of the machine. Engine time goes on by the boot-time clock;
// the wall clock only gives instants their names for people. Pure: clocks are read elsewhere.
//
// At a restart within one boot the boot-time clock tells exactly what has passed. In another boot
// only the wall clock can. Both are believed within bounds: engine time never goes back, and a
// longer downtime than is allowed counts as none. A wall clock that was set moves no engine time;
// it is mapped anew, and that is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "service/notes.h"

namespace berth::service {

// What the clocks say at one moment.
struct ClockReading {
  std::string boot;  // names the boot; "": not known
  std::int64_t boot_ns = 0;
  std::int64_t wall_unix_ns = 0;
};

// An instant of engine time by the wall clock, and the other way round. Never stays never.
Time wall_time(Time engine, const ClockMapped& clock);
Time engine_time(Time wall, const ClockMapped& clock);

struct Resumed {
  ClockMapped clock;
  std::string remark;  // for the log; "": all is as it should be
};

// Where engine time goes on. `last`: as it was mapped last, `last_now`: of the last event.
Resumed resume_time(const ClockMapped& last, Time last_now, const ClockReading& reading,
                    Duration max_downtime);
// Of an empty data folder: engine time begins as the wall clock's.
ClockMapped begin_time(const ClockReading& reading);

// A new mapping, when the wall clock has been set since the last one.
std::optional<ClockMapped> mapped_anew(const ClockMapped& last, Time now,
                                       std::int64_t wall_unix_ns);
// "62 min later", "3 s earlier": what a change of the mapping is to those who look at the wall.
std::string change_text(const ClockMapped& from, const ClockMapped& to);

}  // namespace berth::service
