// Starts a server, takes its /openapi.json, and holds it against a validator, a client made from it,
// and the server itself. script/openapi runs it in a copy of this folder that has the packages.
//
//   node run.mjs BERTH
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";

const berth = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "berth-openapi-"));

function started(server) {
  return new Promise((resolve, reject) => {
    let text = "";
    server.on("exit", (status) => reject(new Error(`the server ended with ${status}: ${text}`)));
    for (const stream of [server.stdout, server.stderr]) {
      stream.on("data", (data) => {
        text += data;
        const line = text.match(/^ *(?:http|HTTP).*?(\d+\.\d+\.\d+\.\d+:\d+)/m);
        if (line) resolve(`http://${line[1]}`);
      });
    }
  });
}

// Nothing in it is wrong, ambiguous or without a description.
async function lint(text) {
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      "no-server-example.com": "off", // the server is the one that sent the document
      "operation-description": "error",
      "parameter-description": "error",
    },
  });
  const flaws = await lintFromString({ source: text, absoluteRef: join(process.cwd(), "openapi.json"), config });
  for (const flaw of flaws) {
    console.error(`${flaw.severity} ${flaw.ruleId}: ${flaw.message} at ${flaw.location[0]?.pointer}`);
  }
  if (flaws.length > 0) throw new Error(`the document has ${flaws.length} flaws`);
}

const server = spawn(berth, ["serve", "--data", join(folder, "data"), "--grpc", "127.0.0.1:0",
  "--http", "127.0.0.1:0", "--set", "tasks.cgroup=off", "--set", `tasks.folder=${join(folder, "tasks")}`,
  "--set", "gpus.source=simulated"]);
try {
  const url = await started(server);
  const text = await (await fetch(`${url}/openapi.json`)).text();
  writeFileSync("openapi.json", text);
  await lint(text);
  console.log("the document is valid");
  writeFileSync("api.d.ts", astToString(await openapiTS(text)));
  execFileSync("node", ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
  console.log("the strict client compiles");
  execFileSync("node", ["client.js", url, folder], { stdio: "inherit", timeout: 60_000 });
} finally {
  server.removeAllListeners("exit");
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
