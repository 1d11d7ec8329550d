/** A first program for a new key, in each language. Every key may send its request. */
const PATH = "/api/v1/api-keys/self";

/**
 * The programs, by language. The curl line contains the secret, so that it works at once. The others read it from their
 * environment.
 */
export const codeSnippets = (origin: string, secret: string): Record<"curl" | "TypeScript" | "Python", string> => ({
  curl: `curl -sS ${origin}${PATH} -H "Authorization: Bearer ${secret}"`,
  TypeScript: `import { createClient } from "@realtime-avatar/client";

const client = createClient({ baseUrl: "${origin}", apiKey: process.env.API_KEY ?? "" });
const { data } = await client.GET("${PATH}");
console.log(data.name, data.scopes);
`,
  Python: `import json, os, urllib.request

headers = {"Authorization": "Bearer " + os.environ["API_KEY"]}
request = urllib.request.Request("${origin}${PATH}", headers=headers)
key = json.load(urllib.request.urlopen(request))
print(key["name"], key["scopes"])
`,
});
