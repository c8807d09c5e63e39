// The little of Node that client.ts uses.
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
}
declare const process: { argv: string[] };
declare const Buffer: { from(text: string, encoding: "base64"): { toString(): string } };
