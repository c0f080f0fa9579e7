import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createFolder } from "./process.ts";
import { repository } from "./source-files.ts";

/** Compiles the gateway into one program, as `npm run compile` does. Only Bun compiles. */
export async function compileGateway(): Promise<string> {
  const outfile = join(createFolder(), process.platform === "win32" ? "gateway.exe" : "gateway");
  const args = [join(repository, "scripts/compile.ts"), "--outfile", outfile];
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, args, { cwd: repository }, (error, stdout, stderr) =>
      error ? reject(new Error(`Cannot compile: ${stdout}${stderr}`)) : resolve(),
    );
  });
  return outfile;
}
