// A strict client of /openapi.json: its types are made from the document (api.d.ts), the compiler
// checks every call, and here every answer of the live server is held against the document: its
// status, its type, its content. In the end every operation of the document has been called.
//
//   node client.js URL FOLDER      FOLDER: where a backup may be made
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Json = { [key: string]: any };
type Problem = components["schemas"]["Problem"];

const [url, folder] = process.argv.slice(2);
if (url === undefined || folder === undefined) throw new Error("usage: client.js URL FOLDER");

// ---- The document -------------------------------------------------------------------------------

const document: Json = JSON.parse(readFileSync("openapi.json", "utf8"));

// The schemas under names of their own, and closed: a field that the document does not have is a
// fault of the document here.
function closed(schema: any): any {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const out: Json = {};
  for (const [key, value] of Object.entries(schema)) out[key] = closed(value);
  if (typeof out["$ref"] === "string") out["$ref"] = out["$ref"].replace(/^.*\//, "");
  if (out["type"] === "object" && out["properties"] && !("additionalProperties" in out)) {
    out["additionalProperties"] = false;
  }
  return out;
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
ajv.addFormat("int32", { type: "number", validate: (n: number) => Math.abs(n) <= 2 ** 31 });
ajv.addFormat("int64", /^-?[0-9]+$/);
ajv.addFormat("uint64", /^[0-9]+$/);
for (const [name, schema] of Object.entries(document["components"]["schemas"])) {
  ajv.addSchema({ $id: name, ...closed(schema) });
}
const validators = new Map<string, ValidateFunction>();

function resolved(part: Json): Json {
  if (typeof part["$ref"] !== "string") return part;
  return part["$ref"].slice(2).split("/").reduce((at: Json, key: string) => at[key], document);
}

// ---- Answers ------------------------------------------------------------------------------------

const called = new Set<string>();
let checked = 0;

function fail(what: string): never {
  throw new Error(what);
}

async function check(path: string, method: string, response: Response): Promise<void> {
  const operation: Json = document["paths"][path]?.[method.toLowerCase()] ??
    fail(`${method} ${path} is not in the document`);
  called.add(operation["operationId"]);
  const where = `${method} ${path}: ${response.status}`;
  if (response.status >= 400 && !(String(response.status) in operation["responses"])) {
    fail(`${where} is not one of its documented statuses`);
  }
  const answer = resolved(operation["responses"][String(response.status)] ??
    operation["responses"]["default"]);
  const type = (response.headers.get("Content-Type") ?? "").split(";")[0] ?? "";
  const schema = answer["content"]?.[type]?.["schema"] ?? fail(`${where} came as ${type}`);
  checked += 1;
  if (!type.endsWith("json")) return;
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? ajv.compile(closed(schema));
  validators.set(key, validate);
  const content: unknown = await response.clone().json();
  if (!validate(content)) {
    fail(`${where}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(content)}`);
  }
  if (type === "application/problem+json" && (content as Problem).status !== response.status) {
    fail(`${where}, and its body says ${(content as Problem).status}`);
  }
}

const api = createClient<paths>({ baseUrl: url });
api.use({
  async onResponse({ request, response, schemaPath }) {
    await check(schemaPath, request.method, response);
    return undefined;
  },
});

// The answer of a call that was done.
type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>;
async function done<T>(call: Answer<T>): Promise<T> {
  const { data, error, response } = await call;
  if (data === undefined) fail(`${response.status}: ${JSON.stringify(error)}`);
  return data;
}
// The problem of one that was refused.
async function refused(call: Answer<unknown>, status: number): Promise<Problem> {
  const { error, response } = await call;
  if (response.status !== status) fail(`${response.status} instead of ${status}: ${response.url}`);
  return error as Problem;
}
function equal<T>(found: T, expected: T): void {
  if (found !== expected) fail(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

// ---- Settings -----------------------------------------------------------------------------------

const queue = { task_type: "door" };
const body = {};

await done(api.PUT("/api/v1/models/{model}", {
  params: { path: { model: "m" } }, body: { config: { weights_mb: 100, load_time_ms: "1" } } }));
await done(api.PUT("/api/v1/queues/{task_type}", {
  params: { path: queue }, body: { config: { max_batch_size: 4, batch_base_ms: 1 } } }));
await done(api.PUT("/api/v1/tenants/{user_id}", {
  params: { path: { user_id: "alice" } }, body: { config: { weight: 2.5 } } }));
const huge = await refused(api.PUT("/api/v1/models/{model}", {
  params: { path: { model: "huge" } }, body: { config: { weights_mb: 999_000_000 } } }), 422);
equal(huge.reason, "model_over_any_gpu");
const flawed = await refused(api.PUT("/api/v1/queues/{task_type}", {
  params: { path: queue }, body: { config: { min_gpus: 9, max_gpus: 1 } } }), 400);
equal(flawed.fields?.[0]?.field, "config.max_gpus");
await done(api.GET("/api/v1/config"));
await api.POST("/api/v1/config/reload", { body: { dry_run: true } });
await done(api.POST("/api/v1/pause", { body: queue }));

// ---- Tasks --------------------------------------------------------------------------------------

const submit = {
  params: { header: { "Idempotency-Key": "key-1" } },
  body: { task: { task_type: "door", task_id: "a", payload: { prompt: "hi" }, gpu_memory_mb: 64 } },
};
const first = await done(api.POST("/api/v1/tasks", submit));
equal(first.task_id, "a");
equal((await done(api.POST("/api/v1/tasks", submit))).duplicate, true);
const batch = await done(api.POST("/api/v1/tasks:batch", {
  body: { tasks: [{ task: { task_type: "door", payload: 1 } },
    { task: { task_type: "nothing", payload: 1 } }] } }));
equal(batch.accepted.length, 1);
equal(batch.accepted[0]?.task_id, `t-${batch.accepted[0]?.task_no}`);
equal(batch.refusals[0]?.reason?.code, "unknown_queue");
const flow = await done(api.POST("/api/v1/workflows", { body: { tasks: [
  { task_type: "door", task_id: "b", group: "g", payload: 1 },
  { task_type: "door", task_id: "c", group: "g", payload: 1, depends_on: ["b", "signal:go"] }] } }));
equal(flow.task_ids.join(), "b,c");

const path = { task_id: "a" };
const status = await done(api.GET("/api/v1/tasks/{task_id}", {
  params: { path, query: { with_spec: true, with_history: true } } }));
equal(status.state, "PENDING");
equal(Buffer.from(String(status.spec?.payload), "base64").toString(), '{"prompt":"hi"}');
const listed = await done(api.GET("/api/v1/tasks", {
  params: { query: { states: ["PENDING", "WAITING"], page_size: 2 } } }));
equal(listed.tasks.length, 2);
await done(api.GET("/api/v1/tasks/{task_id}/explain", { params: { path } }));
const changed = await done(api.POST("/api/v1/tasks/{task_id}/update", {
  params: { path }, body: { priority: 7 } }));
equal(changed.status?.priority, 7);
await done(api.POST("/api/v1/tasks/{task_id}/hold", { params: { path }, body }));
await done(api.POST("/api/v1/tasks/{task_id}/release", { params: { path }, body }));
const signals = await done(api.GET("/api/v1/signals"));
equal(signals.signals[0]?.waiters, "1");
const signal = { signal: "go" };
await done(api.POST("/api/v1/signals/{signal}/resolve", { params: { path: signal }, body }));
await done(api.POST("/api/v1/signals/{signal}/reset", { params: { path: signal }, body }));
await done(api.POST("/api/v1/tasks:cancel", { body: { group: "g" } }));

await done(api.POST("/api/v1/resume", { body: queue }));
for (const task_id of ["a", batch.accepted[0]?.task_id ?? ""]) for (;;) {
  const { state } = await done(api.GET("/api/v1/tasks/{task_id}", {
    params: { path: { task_id } } }));
  if (state === "COMPLETED") break;
  if (state !== "PENDING" && state !== "STARTING" && state !== "RUNNING") fail(`it is ${state}`);
}
await api.GET("/api/v1/tasks/{task_id}/logs", { params: { path }, parseAs: "text" });
equal((await done(api.POST("/api/v1/tasks/{task_id}/cancel", {
  params: { path }, body: { dry_run: true } }))).matched, "1");
const events = await done(api.GET("/api/v1/events", {
  params: { query: { from_start: true, follow: false } }, parseAs: "text" }));
const rows = String(events).split("\n").filter((line) => line.startsWith("data: "));
const last = rows.at(-1) ?? fail("no events");
if (!ajv.validate("TaskEvent", JSON.parse(last.slice(6)))) fail(ajv.errorsText());
const ids = String(events).split("\n").filter((line) => line.startsWith("id: "));
const behind = await done(api.GET("/api/v1/events", {
  params: { query: { follow: false }, header: { "Last-Event-ID": ids.at(-2)?.slice(4) ?? "" } },
  parseAs: "text" }));
equal(String(behind).split("\n").filter((line) => line.startsWith("data: ")).length, 1);

// ---- The cluster --------------------------------------------------------------------------------

const { gpus } = await done(api.GET("/api/v1/gpus"));
const gpu = { gpu: gpus[0]?.name ?? fail("no GPU") };
await done(api.GET("/api/v1/gpus/{gpu}", { params: { path: gpu } }));
await done(api.POST("/api/v1/gpus/{gpu}/drain", { params: { path: gpu }, body }));
await done(api.POST("/api/v1/gpus/{gpu}/resume", { params: { path: gpu }, body }));
await done(api.GET("/api/v1/queues"));
await done(api.GET("/api/v1/queues/{task_type}", { params: { path: queue } }));
await done(api.GET("/api/v1/models"));
await done(api.GET("/api/v1/models/{model}", { params: { path: { model: "m" } } }));
await done(api.GET("/api/v1/tenants"));
await done(api.GET("/api/v1/tenants/{user_id}", { params: { path: { user_id: "alice" } } }));
await done(api.GET("/api/v1/usage", { params: { query: { days: 1 } } }));
await done(api.GET("/api/v1/server"));
await done(api.POST("/api/v1/config/revert", { body: { kind: "tenant", name: "alice" } }));
equal((await refused(api.DELETE("/api/v1/models/{model}", {
  params: { path: { model: "nothing" } } }), 404)).reason, "unknown_model");
await done(api.DELETE("/api/v1/models/{model}", { params: { path: { model: "m" } } }));
await done(api.DELETE("/api/v1/queues/{task_type}", { params: { path: queue } }));
await done(api.DELETE("/api/v1/tenants/{user_id}", { params: { path: { user_id: "alice" } } }));
await done(api.PUT("/api/v1/queues/{task_type}", {
  params: { path: queue }, body: { config: { max_batch_size: 4 } } }));
await done(api.POST("/api/v1/backup", { body: { path: `${folder}/backup` } }));
await done(api.GET("/health"));
await done(api.GET("/openapi.json"));
await done(api.GET("/queue/status"));
for (const page of ["/healthz", "/readyz", "/metrics", "/gpu/metrics"] as const) {
  await done(api.GET(page, { parseAs: "text" }));
}

// ---- Refusals -----------------------------------------------------------------------------------

equal((await refused(api.GET("/api/v1/tasks/{task_id}", {
  params: { path: { task_id: "nothing" } } }), 404)).reason, "unknown_task");
equal((await refused(api.POST("/api/v1/tasks", {
  body: { task: { task_type: "door", task_id: "a", payload: 1, priority: 1 } } }), 409)).reason,
  "task_exists");
const wrong = await refused(api.POST("/api/v1/tasks", {
  body: { task: { task_type: "", tier: 9 } } }), 400);
equal(wrong.fields?.map((one) => one.field).sort().join(), "task.payload,task.task_type,task.tier");
await refused(api.POST("/api/v1/tasks", { body: {
  task: { task_type: "door", payload: 1, gpu_memory_mb: 99_999_999 } } }), 422);
// @ts-expect-error: a field that the document does not have is an error of the compiler
const misspelt: components["schemas"]["TaskSpec"] = { task_typ: "door" };
await refused(api.POST("/api/v1/tasks", { body: { task: misspelt } }), 400);
// @ts-expect-error: and so is a value of another type
await refused(api.POST("/api/v1/tasks", { body: { task: { priority: "high" } } }), 400);

const missed = Object.values(document["paths"]).flatMap((verbs) =>
  Object.values(verbs as Json).map((operation) => operation["operationId"] as string))
  .filter((id) => !called.has(id));
if (missed.length > 0) fail(`never called: ${missed.join(", ")}`);
console.log(`${called.size} operations called, ${checked} answers as the document says`);
