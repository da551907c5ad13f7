// No file of the pages imports in a circle, types included; what is shared knows no game, and no game another.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("src", import.meta.url));
const files = readdirSync(root, { recursive: true }).map((name) => name.replaceAll("\\", "/")).filter((name) => name.endsWith(".ts"));
const imports = new Map(
  files.map((file) => {
    const found = ts.preProcessFile(readFileSync(`${root}/${file}`, "utf8")).importedFiles.map(({ fileName }) => fileName);
    return [file, found.filter((name) => name.startsWith(".")).map((name) => `${join(dirname(file), name)}.ts`)];
  }),
);
const faults = [];
for (const [file, others] of imports) {
  for (const other of others) {
    const [own, theirs] = [file, other].map((path) => path.split("/")[0]);
    if (theirs !== own && theirs !== "common") faults.push(`${file} imports ${other}`);
  }
}
const done = new Set();
function visit(file, way) {
  if (way.includes(file)) faults.push(`a circle: ${[...way.slice(way.indexOf(file)), file].join(" > ")}`);
  else if (!done.has(file)) for (const other of imports.get(file) ?? []) visit(other, [...way, file]);
  done.add(file);
}
for (const file of files) visit(file, []);
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0);
