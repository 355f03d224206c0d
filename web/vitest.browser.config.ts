import { defineConfig } from "vitest/config";

const limits = { testTimeout: 60_000, hookTimeout: 120_000 };

// Most of a test is a browser that waits: files run two at a time. What measures time runs afterwards, alone.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: "pages",
          include: ["tests/browser/**/*.test.ts"],
          exclude: ["tests/browser/budget.test.ts"],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...limits,
          name: "budget",
          include: ["tests/browser/budget.test.ts"],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
