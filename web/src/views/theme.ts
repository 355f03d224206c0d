// Light or dark: as the system says, unless the user chose. The choice is kept where the browser lets us keep something.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";
const KEY = "turnpike-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

let chosen = stored();
const listeners = new Set<() => void>();
system.addEventListener("change", () => announce());

function announce(): void {
  if (chosen) document.documentElement.dataset.theme = chosen;
  for (const listener of listeners) listener();
}
announce();

export function currentTheme(): Theme {
  return chosen ?? (system.matches ? "dark" : "light");
}

export function switchTheme(): void {
  chosen = currentTheme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // In a sandboxed frame the choice lasts as long as the page.
  }
  announce();
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState(currentTheme());
  useEffect(() => {
    const listener = () => setTheme(currentTheme());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return theme;
}
