// Packages for Python that tests run: a client in tests/clients, a validator in tests/emulators. Where they are, and their installation.
// Plain JavaScript for Node 20.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const isWindows = process.platform === "win32";

/** The Python that has the packages of a folder's `requirements.txt`; there is no such file where none was installed. */
export function pythonOf(folder) {
  return join(folder, ".venv", isWindows ? "Scripts/python.exe" : "bin/python");
}

function run(program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return { ok: status === 0, printed: `${stdout ?? ""}${stderr ?? ""}`.trim() };
}

/** Reads a text; "" where there is no such file. */
function read(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/**
 * Installs the packages of a folder's `requirements.txt` beside it. Does nothing where they are there, and where the machine has no
 * Python that can make environments (Debian: the package python3-venv).
 *
 * @returns {string | undefined} What was printed where it failed.
 */
export function installPython(folder) {
  const wanted = join(folder, "requirements.txt");
  const present = join(folder, ".venv/installed.txt");
  if (read(wanted) === read(present)) return undefined;
  const system = isWindows ? "python" : "python3";
  if (!run(system, ["-c", "import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 10))"]).ok) return undefined;
  rmSync(join(folder, ".venv"), { recursive: true, force: true });
  const made = run(system, ["-m", "venv", join(folder, ".venv")]);
  if (!made.ok) return made.printed;
  const packages = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", wanted];
  const installed = run(pythonOf(folder), packages);
  if (installed.ok) copyFileSync(wanted, present);
  // what is half installed must not be run
  else rmSync(join(folder, ".venv"), { recursive: true, force: true });
  return installed.ok ? undefined : installed.printed;
}
