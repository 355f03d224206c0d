// The victims: each is one small program, chosen by the first argument; `arguments` are those behind it.
#pragma once

#include <span>

namespace victim {

using Arguments = std::span<char*>;

int every_kind(Arguments arguments);         // each kind of call once, each with its own size
int uploads(Arguments arguments);            // COUNT: sizes 1, 2, 3, ... and a checksum
int paced(Arguments arguments);              // COUNT MS: one upload every MS milliseconds
int waited_for(Arguments arguments);         // COUNT MS: the same, and each is waited for
int endless(Arguments arguments);            // FILE: uploads of 1, 2, 3, ... bytes until the program is killed.
                                             // The file holds the size of the last one
int many(Arguments arguments);               // COUNT: as fast as it goes
int threads(Arguments arguments);            // THREADS COUNT: uploads of 100 + thread bytes on streams of their own
int short_threads(Arguments arguments);      // THREADS: one after the other, each with one upload of 100 + thread bytes
int no_keys(Arguments arguments);            // uploads when the process has no key of thread-specific data left
int graph(Arguments arguments);              // LAUNCHES of a graph: upload 2001, kernel, download 2002
int contents(Arguments arguments);           // copies of the same and of other bytes, in every way
int asked_memory(Arguments arguments);       // downloads; says how often the driver was asked about their memory
int grow(Arguments arguments);               // BYTES of memory, held for a third of a second
int allocations(Arguments arguments);        // device and pinned memory in the ways that every_kind leaves out
int ranges(Arguments arguments);             // NVTX ranges of each sort, an upload of 64 bytes inside
int late_ranges(Arguments arguments);        // WHERE: ranges in a destructor that runs late: "static", "key", "exit"
int steps(Arguments arguments);              // COUNT MS NTH SLOW_MS: ranges, of which every nth takes longer
int numbered_ranges(Arguments arguments);    // 42 MB of names of ranges, then a kernel
int profiler_range(Arguments arguments);     // uploads around and inside cudaProfilerStart and Stop, twice
int kernel_range(Arguments arguments);       // the same with kernels
int nvtx_range(Arguments arguments);         // the same with the ranges `other` and `wanted`
int exit_by(Arguments arguments);            // WAY: 50 uploads, then ends in that way
int exit_later(Arguments arguments);         // WAY MS: 50 uploads, then nothing for so long, then ends in that way
int exit_from_handler(Arguments arguments);  // MICROSECONDS: copies until a handler calls _exit
int vfork_child(Arguments arguments);        // amid uploads, a child of vfork calls _exit
int fork_before(Arguments arguments);        // forks before CUDA is up: both use it
int fork_after(Arguments arguments);         // WAY: forks with CUDA up; the child ends in that way
int fork_storm(Arguments arguments);         // COUNT: forks while threads copy
int run_self(Arguments arguments);           // forks and executes this program with the arguments
int other_subscriber(Arguments arguments);   // takes CUPTI's one place before CUDA starts
int steal_buffers(Arguments arguments);      // registers buffer callbacks of its own half-way
int profiler_inside(Arguments arguments);    // as torch.profiler leaves CUPTI, and then four seconds of uploads
// PROFILER first|late: profiled twice; its library is loaded before CUDA or after
int profiled(Arguments arguments);
int profiled_without_subscriber(Arguments arguments);  // PROFILER: twice, once without a flush at the end
int profiled_and_torn_down(Arguments arguments);       // PROFILER: and then it ends CUPTI
// LIBRARY PROFILER ORDER RUN...: [ and ] a recording, ( and ) a profile; a point 20 uploads of 101, 102, ... bytes
int sessions_and_profiles(Arguments arguments);
int keeps(Arguments arguments);     // LIBRARY REASON: has the recording kept
int two_keep(Arguments arguments);  // two processes, one of which gets SIGUSR2
int sessions(Arguments arguments);  // LIBRARY RUN_A RUN_B: starts and stops recording twice
int managed_before(
    Arguments arguments);  // LIBRARY RUN: managed memory of the time before the recording is copied in it
// LIBRARY RUN THREADS NAMES: ranges of short threads, then so many new names; then a recording with ranges in it. Says
// how much memory and time the first threads and the last took
int ranges_before(Arguments arguments);
int sessions_amid(Arguments arguments);  // LIBRARY RUN...: starts and stops recording while threads copy
// LIBRARY FOLDER SECONDS "forks" or another word: recordings, copies, ranges and forks at once
int stress(Arguments arguments);
int hung_stop(Arguments arguments);          // LIBRARY RUN_A RUN_B FILE: stops while the disk hangs, and starts
int ranges_after_stop(Arguments arguments);  // LIBRARY RUN: stops its recording, and makes ranges around another one
int session_at_exit(Arguments arguments);    // LIBRARY RUN: recorded until it exits; then says what the recorder says
int bad_session(Arguments arguments);        // LIBRARY: what turnpike_start and turnpike_stop say when they must refuse
int constructor_waits(Arguments arguments);  // LIBRARY: loads it; its constructor waits for copies
// SECONDS LIBRARY...: threads that load and unload them, while others copy
int loads_and_unloads(Arguments arguments);
int sandboxed(Arguments arguments);  // PROGRAM ARGUMENTS: becomes it, where process_vm_readv is forbidden

}  // namespace victim
