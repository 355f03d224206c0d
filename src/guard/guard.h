/* The guard's C interface: what the Python package and the command call. The library carries a C++ runtime of its own,
 * so nothing of C++ crosses here. Texts that are returned are valid until the calling thread's next call. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the slots of the PyTorch modules loaded so far. Returns how many are taken in all; 0: there is no PyTorch with
 * CUDA. Cheap when nothing was loaded since. */
uint64_t turnpike_guard_take_slots(void);

/* 1: a recorder in this process tells what libraries outside PyTorch do. 0: nothing is known of that. */
int turnpike_guard_sees_outside(void);

/* 1: the process has initialised CUDA, and has a GPU. Initialises nothing. */
int turnpike_guard_has_gpu(void);

/* Gives them all back: PyTorch calls libcudart directly. */
void turnpike_guard_restore_slots(void);

/* "" when `rules` (guard/rules.h) can be read, else what is wrong with them. */
const char* turnpike_guard_check(const char* rules);

/* The calling thread enters a block with these rules. 0: they cannot be read, or memory ran out. */
uint64_t turnpike_guard_enter(const char* rules);

/* The same without the GIL's being given back, where nothing is to be done before: slots to be taken, the thread to be
 * marked for autograd, or, unless `is_told`, to be said that nothing records this process. 0: something is. */
uint64_t turnpike_guard_begin(const char* rules, int is_told);

/* Leaves the block and gives 0, or gives 1: there is something to be told, by turnpike_guard_leave. */
int turnpike_guard_end(uint64_t block);

/* The block is not in force until it is resumed, by whichever thread: so for a generator between its steps. */
void turnpike_guard_pause(uint64_t block);
void turnpike_guard_resume(uint64_t block);

/* Leaves it. What happened in it, as a JSON object: {"logged": [...], "deferred": [...]}; "" when that is nothing,
 * or it was left already. Logged
 * is what was logged here for the first time in the process. */
const char* turnpike_guard_leave(uint64_t block);

/* All that was logged in blocks so far, as a JSON list of {"count": 3, "bytes": 12, "first": {...}}. */
const char* turnpike_guard_logged(void);

/* Entries of allow lists by which nothing was allowed, of blocks that were entered; each on a line of its own. */
const char* turnpike_guard_unmatched(void);

/* Turnpike is about to copy `bytes` in a direction ("h2d") by itself. "": it may; else the text to raise. */
const char* turnpike_guard_move(const char* direction, uint64_t bytes);

/* What was raised with a text that stands in `text`, as a JSON object; "" when nothing of ours was. */
const char* turnpike_guard_raised(const char* text);

/* Called inside of the context `inner`, which was entered inside of `outer`: learns how to tell contexts, and so tasks
 * of asyncio, apart. 0: it cannot. */
int turnpike_guard_learn_context(const void* inner, const void* outer);

/* With TURNPIKE_SELF_TIME=1: how often PyTorch called through the guard so far, and how long these calls took without
 * the CUDA functions themselves. 0: that is not counted, and both are 0. */
int turnpike_guard_self_time(uint64_t* count, uint64_t* ns);

/* What the driver calls inside cuInit when CUDA_INJECTION64_PATH names this library: enters the block of TURNPIKE_GUARD
 * for the whole process. */
int InitializeInjection(void);

#ifdef __cplusplus
}
#endif
