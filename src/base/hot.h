// Keeps what a function reads at each call side by side: spread over a library, each piece is a page and a line of its
// own to be fetched, in a program that does much else between two calls.
#pragma once

// A function.
#define TURNPIKE_HOT __attribute__((hot))
// A variable of the process, and one of each thread: constant at first, and small. Zeros, too, stand in the file then,
// where little else does.
#define TURNPIKE_HOT_DATA __attribute__((section(".data.turnpike_hot")))
#define TURNPIKE_HOT_THREAD_DATA __attribute__((section(".tdata.turnpike_hot")))
