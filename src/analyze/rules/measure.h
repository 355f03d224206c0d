// What rules count at a place, and how they put it into words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/rules/rule.h"
#include "base/units.h"

namespace turnpike::analyze {

// Finds and counts the copies of a place, once its calls are known.
void find_copies(const ProcessModel& model, SiteCalls& site);
const CopyCount& count_copies(const SiteCalls& site, Direction direction);

// Whether the host stood still in this call until a copy was done, or in the synchronisation that its operator made
// behind it.
bool is_held(const ProcessModel& model, std::uint32_t call);
// For how long.
std::int64_t held_ns(const ProcessModel& model, std::uint32_t call);

// Whether the rate of the link is known that the copies of these calls took.
bool is_link_known(const ProcessModel& model, const Selection& copies, Direction direction);

// Whether a frame of Python that led to a place names this function or file.
bool is_on_stack(const Place& place, std::string_view part);
// A place without the line of a library that made the call: what is the matter there is the program's.
Where without_library(Where where);
// That of a call.
Where line_of(const ProcessModel& model, std::uint32_t call);

// The calls of a place that copy in a direction.
const Selection& copies_of(const SiteCalls& site, Direction direction);

// Whether so much time over the stretch is a share of it that is worth to be told.
bool matters(const ProcessModel& model, std::int64_t total_ns);

// The calls of a place that are of one of these kinds.
Selection calls_of(const SiteCalls& site, const ProcessModel& model, std::initializer_list<trace::CallKind> kinds);
// The steps that these calls are in.
std::set<std::uint32_t> steps_of(const ProcessModel& model, const Selection& calls);
// Whether they come all the time and not only when the program starts: in at least half of the steps. Without steps, at
// least five times, and none takes as long as all others together: the first call into a library does.
bool is_regular(const ProcessModel& model, const Selection& calls);
// Whether they come again: in more than one step; without steps at least five times. The results at the end of a
// program are read once.
bool is_recurring(const ProcessModel& model, const Selection& calls);
// The time in the calls themselves.
std::int64_t duration_ns(const ProcessModel& model, const Selection& calls);

// What their threads did before each of these calls, since the call before it.
std::vector<Interval> pauses_before(const ProcessModel& model, const Selection& calls);

// "in each step"; without steps "again and again".
const char* each_step_text(const ProcessModel& model);
// "3 times a step", "once a step", "twice a step", "in 1 of 8 steps"; without steps "12 times".
std::string times_a_step(const ProcessModel& model, std::uint64_t count);
// "1.3 ms a step"; without steps "1.3 ms".
std::string time_a_step(const ProcessModel& model, std::int64_t total_ns);
// "10.5 ms a step, and the GPU was idle meanwhile"; else for how much of it.
std::string time_with_idle_gpu(const ProcessModel& model, std::int64_t total_ns, std::int64_t idle_ns);
std::string mean_bytes_text(const CopyCount& copies);
// "the kernel flash_attention", from a symbol or from what other tools hand over; "a kernel" without one.
std::string kernel_text(const std::string& symbol);

}  // namespace turnpike::analyze
