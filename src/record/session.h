/* The C interface of libturnpike_record.so: how the command line and Python start and stop a recording in this process.
 * Plain C, because the library is loaded at run time by programs that share no C++ runtime with it. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The environment of a process into which the driver injects the library. The table of record/options.cpp names the
 * variables of the options. */
#define TURNPIKE_ENV_RUN "TURNPIKE_RUN"         /* the run directory, absolute; recording starts at cuInit */
#define TURNPIKE_ENV_STATUS "TURNPIKE_STATUS"   /* a file of one TurnpikeStatus that is mapped and updated */
#define TURNPIKE_ENV_ESTATES "TURNPIKE_ESTATES" /* memory of `turnpike record` (record/estate) for what may be lost */
#define TURNPIKE_ENV_CONTROL "TURNPIKE_CONTROL" /* 1: without a run, the process waits for `turnpike attach` */
#define TURNPIKE_ENV_CUPTI "TURNPIKE_CUPTI"     /* path of libcupti, instead of searching */

enum { TURNPIKE_DETAIL_TRANSFERS = 1, TURNPIKE_DETAIL_FULL = 2 };
#define TURNPIKE_MAX_BYTES 16000000000ULL

typedef struct TurnpikeOptions {
  uint32_t struct_bytes;     /* sizeof(TurnpikeOptions) of the caller */
  uint32_t detail;           /* TURNPIKE_DETAIL_* */
  uint32_t stacks;           /* 0 or 1 */
  uint32_t verify_content;   /* 0 or 1: hash every byte of host buffers of copies, not a sample */
  const char* run_directory; /* made if it is missing; one file per process goes in */
  uint64_t max_bytes;        /* of the file: recording stops there; 0: TURNPIKE_MAX_BYTES */
  uint32_t source;           /* 0 or 1: keep the source around the lines of Python that stacks name */
  uint32_t reserved;
} TurnpikeOptions;

/* Counters of one or more recorded processes, updated with relaxed atomic adds in a shared mapping. Zeroed by its
 * maker. */
typedef struct TurnpikeStatus {
  uint64_t process_count;     /* processes that started recording */
  uint64_t transfer_count[6]; /* h2d, d2h, d2d, p2p, h2h, memset */
  uint64_t transfer_bytes[6];
  uint64_t sync_count;
  uint64_t host_time_ns; /* time of the host in calls that copy or synchronise, blocked or not */
  uint64_t kernel_count;
  uint64_t loss_count;
  uint64_t written_bytes;
  uint64_t unusable_count;         /* processes that use CUDA but could not be recorded; the reason is in their file */
  uint64_t stopped_at_size_count;  /* processes whose file had its largest size before they ended */
  uint64_t stopped_disk_low_count; /* processes that ran on when the disk had no more room for their file */
  uint64_t keep_number; /* not added: with --last, the newest NAME-number.tpk into which every process keeps its part */
  uint64_t trigger_count; /* kept runs that --trigger asked for */
} TurnpikeStatus;

/* Starts recording in this process. 0, or -1 with a sentence in `error` (always terminated). Safe at any time, also
 * after CUDA is up; not from a CUPTI callback. */
int turnpike_start(const TurnpikeOptions* options, char* error, uint64_t error_bytes);
/* Stops, collects what is under way, closes the file. 0, or -1 with a sentence in `error`: nothing was being recorded;
 * or after 10 s the file is still being written, since its disk or the GPU hangs. Then turnpike_start refuses until the
 * file is complete, and who calls turnpike_stop again waits again. */
int turnpike_stop(char* error, uint64_t error_bytes);
/* Keeps what a recording with --last has now as a run of its own beside the run, NAME-1.tpk, and so on; it goes on
 * recording. The report gives `reason`; NULL: none. Returns before the run is complete. 0, or -1 with a sentence
 * in `error`: nothing is being recorded, or not with --last. */
int turnpike_keep(const char* reason, char* error, uint64_t error_bytes);
/* 1 while recording. */
int turnpike_is_recording(void);
/* Copies the path of the file that is, or last was, written by this process: "" before the first. Any thread. */
void turnpike_file(char* path, uint64_t path_bytes);
/* This process's own counters since the start of the current or last recording. */
void turnpike_status(TurnpikeStatus* status);

/* A call that copies, waits, allocates or registers memory, and has succeeded. */
enum {
  TURNPIKE_CALL_COPY = 1,
  TURNPIKE_CALL_WAIT = 2,
  TURNPIKE_CALL_ALLOCATION = 3,
};
enum { TURNPIKE_HOST_UNKNOWN = 0, TURNPIKE_HOST_IS_SOURCE = 1, TURNPIKE_HOST_IS_DESTINATION = 2 };
typedef struct TurnpikeCall {
  uint32_t what;        /* TURNPIKE_CALL_* */
  uint32_t host_side;   /* TURNPIKE_HOST_*: of a copy, as far as the call itself says so */
  uint32_t is_blocking; /* 0 or 1: it is given no stream */
  uint32_t is_captured; /* 0 or 1: into a CUDA graph */
  const char* name;     /* "cudaMemcpyAsync", "cuMemcpyHtoD_v2" */
  const void* stream;
  uint64_t dst; /* 0 where the call does not tell it, as a batched copy */
  uint64_t src;
  uint64_t bytes; /* 0 likewise */
} TurnpikeCall;

/* Has `listener` called at the end of each such call that is recorded, on the calling thread and inside of CUPTI's
 * callback: it neither waits, nor throws, nor calls what is recorded. NULL: nobody listens. One at a time. */
typedef void (*TurnpikeListener)(const TurnpikeCall* call);
void turnpike_listen(TurnpikeListener listener);

/* What `turnpike attach` calls in a program that was not started dormant: from now on the process waits as a dormant
 * one does. Safe at any time and on any thread; nothing happens where it waits already. 0, or -1 with a sentence in
 * `error`. */
int turnpike_wait(char* error, uint64_t error_bytes);

/* Called by the CUDA driver inside cuInit, and by NVTX at its first use. Not for users. */
int InitializeInjection(void);
int InitializeInjectionNvtx2(void* get_export_table);

#ifdef __cplusplus
}
#endif
