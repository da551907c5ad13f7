// Builds the one asset that ships: export/page/page.html, with script and style inlined.
// Usage: node build.mjs [OUTPUT]. The same sources and lock file give the same bytes.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2] ?? `${here}/../export/page/page.html`);

async function bundle(entry) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii", // a byte of the page never depends on how it is served
    legalComments: "none",
    write: false,
  });
  return result.outputFiles[0].text.trim();
}

// The licences of what is bundled travel with it.
const packages = Object.keys(JSON.parse(readFileSync(`${here}/package.json`, "utf8")).dependencies);
const bundled = new Set(packages);
for (const name of bundled) {
  const { dependencies = {} } = JSON.parse(readFileSync(`${here}/node_modules/${name}/package.json`, "utf8"));
  for (const dependency of Object.keys(dependencies)) bundled.add(dependency);
}
const notices = [...bundled].sort().map((name) => {
  const folder = `${here}/node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  return { name, version, license, text: readFileSync(`${folder}/LICENSE`, "utf8").trim() };
});
const byText = Map.groupBy
  ? Map.groupBy(notices, (notice) => notice.text)
  : notices.reduce((map, notice) => map.set(notice.text, [...(map.get(notice.text) ?? []), notice]), new Map());
const licences = [...byText]
  .map(([text, group]) => `${group.map(({ name, version, license }) => `${name} ${version} (${license})`).join(", ")}\n\n${text}`)
  .join("\n\n---\n\n");
if (licences.includes("-->")) throw new Error("a licence text would end the comment that holds it");

const script = await bundle("src/main.ts");
const style = await bundle("src/style.css");
if (/<\/script|<!--/i.test(script)) throw new Error("the script holds a sequence that would end its element");
const digest = createHash("sha256").update(script).digest("base64");
const page = readFileSync(`${here}/src/page.html`, "utf8")
  .replace("{{SCRIPT_SHA256}}", () => digest)
  .replace("{{STYLE}}", () => style)
  .replace("{{SCRIPT}}", () => script)
  .replace("{{LICENCES}}", () => licences);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, page);
console.log(`${output}: ${page.length} bytes`);
