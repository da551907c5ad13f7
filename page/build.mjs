// Builds the assets that ship: ../export/page/NAME.html of each folder src/NAME with a main.ts and a style.css.
// Usage: node build.mjs [FOLDER]. The same sources and lock file give the same bytes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = resolve(process.argv[2] ?? `${here}/../export/page`);

/** The bundle of an entry, and the packages that are in it. */
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
    metafile: true,
    write: false,
  });
  const packages = Object.keys(result.metafile.inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return { text: result.outputFiles[0].text.trim(), packages: [...new Set(packages)].sort() };
}

/** The licences of what is bundled travel with it, each text once. */
function licencesOf(packages) {
  const byText = new Map();
  for (const name of packages) {
    const { version, license } = JSON.parse(readFileSync(`${here}/node_modules/${name}/package.json`, "utf8"));
    const text = readFileSync(`${here}/node_modules/${name}/LICENSE`, "utf8").trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const licences = [...byText].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n---\n\n");
  if (licences.includes("-->")) throw new Error("a licence text would end the comment that holds it");
  return licences || "none";
}

mkdirSync(folder, { recursive: true });
const template = readFileSync(`${here}/src/common/page.html`, "utf8");
for (const name of readdirSync(`${here}/src`).sort()) {
  if (!existsSync(`${here}/src/${name}/main.ts`)) continue;
  const script = await bundle(`src/${name}/main.ts`);
  const style = await bundle(`src/${name}/style.css`);
  if (/<\/script|<!--/i.test(script.text)) throw new Error("the script holds a sequence that would end its element");
  const page = template
    .replace("{{SCRIPT_SHA256}}", () => createHash("sha256").update(script.text).digest("base64"))
    .replace("{{STYLE}}", () => style.text)
    .replace("{{SCRIPT}}", () => script.text)
    .replace("{{LICENCES}}", () => licencesOf(script.packages));
  writeFileSync(`${folder}/${name}.html`, page);
  console.log(`${folder}/${name}.html: ${page.length} bytes`);
}
