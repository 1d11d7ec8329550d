/**
 * Clients generated from docs/openapi.json with default settings. Each is compiled, and creates and lists an avatar.
 * Generators that must be downloaded run with LONG=1. Also tests the HTTP client of Java.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runIn } from "@realtime-avatar/testing/package";
import { REPOSITORY, runToEnd } from "@realtime-avatar/testing/processes";
import { removeAtEnd, temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { startApi } from "../support/api.ts";

const LONG = process.env["LONG"] === "1";
const DOCUMENT = join(REPOSITORY, "docs/openapi.json");
const EXPECTED = "Ada 1\n";

const api = await startApi();
// A compiler reads 50,000 generated lines on a busy machine. Set after `startApi`, which sets its own timeout.
setDefaultTimeout(600_000);
/**
 * The environment of a program that calls the service: a key without avatars, and the settings of the machine for Go.
 */
const settings = async (): Promise<Record<string, string>> => {
  const ofGo = ["GOPROXY", "GOSUMDB", "GOFLAGS", "GOCACHE", "GOMODCACHE"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(ofGo), BASE_URL: api.url, API_KEY: await api.key({ scopes: ["*"] }) };
};
const newFolder = async (): Promise<string> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  return folder;
};
const clearAvatars = () => api.database.db.client`truncate avatars cascade`;

/** PYTHON names an interpreter with the package, for example in a virtual environment. */
const python = process.env["PYTHON"] ?? Bun.which("python3") ?? "";
const hasPython = python !== "" && (await runToEnd([python, "-c", "import openapi_python_client"])).code === 0;
const withoutPython = hasPython ? "" : " (skipped: PYTHON names no Python with openapi-python-client)";

const PYTHON_PROGRAM = `
import os
from client import AuthenticatedClient
from client.api.avatars import create_avatar, list_avatars
from client.models import CreateAvatar, CreateAvatarSourceKind

with AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"]) as client:
    body = CreateAvatar(display_name="Ada", source_kind=CreateAvatarSourceKind.IMAGE)
    avatar = create_avatar.sync(client=client, body=body)
    print(avatar.display_name, len(list_avatars.sync(client=client).data))
`;

test.skipIf(!hasPython)(`openapi-python-client${withoutPython}: complete, compiled, and called`, async () => {
  const folder = await newFolder();
  // By default, the generator formats the files with another program. It supports only one media type for bytes.
  const config = "post_hooks: []\ncontent_type_overrides:\n  audio/wav: application/octet-stream\n";
  await writeFile(join(folder, "config.yaml"), config);
  const output = ["--meta", "none", "--output-path", "client", "--fail-on-warning"];
  const generate = ["generate", "--path", DOCUMENT, "--config", "config.yaml", ...output];
  await runIn(folder, [python, "-m", "openapi_python_client", ...generate]);
  await runIn(folder, [python, "-m", "compileall", "-q", "client"]);
  await writeFile(join(folder, "main.py"), PYTHON_PROGRAM);
  await clearAvatars();
  expect(await runIn(folder, [python, "main.py"], await settings())).toBe(EXPECTED);
});

/** openapi-typescript needs an older compiler than that of the workspace. Its output compiles with both. */
const clientPackage = join(REPOSITORY, "packages/client");
const packageFolder = (name: string, parent = clientPackage): string =>
  dirname(Bun.resolveSync(`${name}/package.json`, parent));
const typeCheck = (folder: string, ...files: string[]): Promise<string> => {
  const flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  // The compiler of the workspace uses a fifth of the processor time of the older one, which runs only with LONG=1.
  const tsc = join(packageFolder("typescript", LONG ? clientPackage : REPOSITORY), "bin/tsc");
  return runIn(folder, ["node", tsc, ...flags, "--lib", "es2022,dom,dom.iterable", ...files]);
};

const TYPED_PROGRAM = `
import type { components, operations } from "./api";
declare const process: { env: Record<string, string> };
type Create = operations["createAvatar"];
type Created = Create["responses"][201]["content"]["application/json"];
type Page = operations["listAvatars"]["responses"][200]["content"]["application/json"];
const { BASE_URL, API_KEY } = process.env;
const headers = { authorization: "Bearer " + API_KEY, "content-type": "application/json" };
const body: Create["requestBody"]["content"]["application/json"] = { displayName: "Ada", sourceKind: "image" };
type File = components["schemas"]["UploadAsset"]["file"];
// @ts-expect-error: a file is no number
const file: File = 1;
// @ts-expect-error: no such source
const wrong: typeof body.sourceKind = "audio";
const url = BASE_URL + "/api/v1/avatars";
const avatar: Created = await (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
const page: Page = await (await fetch(url, { headers })).json();
console.log(avatar.displayName, page.data.length);
export {};
`;

test("openapi-typescript: compiled, and called", async () => {
  const folder = await newFolder();
  const program = join(packageFolder("openapi-typescript"), "bin/cli.js");
  await runIn(clientPackage, ["node", program, DOCUMENT, "--output", join(folder, "api.d.ts")]);
  await writeFile(join(folder, "main.ts"), TYPED_PROGRAM);
  await typeCheck(folder, "main.ts");
  await clearAvatars();
  expect(await runIn(folder, [process.execPath, "main.ts"], await settings())).toBe(EXPECTED);
});

const withoutGo = Bun.which("go") ? "" : " (skipped: there is no go)";
const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const GO_PROGRAM = `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.test/program/api"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("BASE_URL"), api.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	body := api.CreateAvatar{DisplayName: "Ada", SourceKind: api.CreateAvatarSourceKindImage}
	created, err := client.CreateAvatarWithResponse(context.Background(), nil, body)
	if err != nil {
		panic(err)
	}
	list, err := client.ListAvatarsWithResponse(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(created.JSON201.DisplayName, len(list.JSON200.Data))
}
`;

test.skipIf(!LONG || withoutGo !== "")(`oapi-codegen, with LONG=1${withoutGo}: compiled, and called`, async () => {
  const folder = await newFolder();
  const env = await settings();
  await mkdir(join(folder, "api"));
  await writeFile(join(folder, "main.go"), GO_PROGRAM);
  await runIn(folder, ["go", "mod", "init", "example.test/program"], env);
  const generate = ["-generate", "types,client", "-package", "api", "-o", "api/api.go", DOCUMENT];
  await runIn(folder, ["go", "run", OAPI_CODEGEN, ...generate], env);
  await runIn(folder, ["go", "mod", "tidy"], env);
  await clearAvatars();
  expect(await runIn(folder, ["go", "run", "."], env)).toBe(EXPECTED);
});

const EXPECTING_PROGRAM = `
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

public class Main {
  public static void main(String[] arguments) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("BASE_URL") + "/api/v1/avatars"))
        .header("Authorization", "Bearer " + System.getenv("API_KEY")).header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString("{\\"displayName\\":\\"Ada\\",\\"sourceKind\\":\\"image\\"}"));
    for (boolean expects : new boolean[] {true, false}) {
      System.out.println(client.send(request.expectContinue(expects).build(), BodyHandlers.ofString()).statusCode());
    }
  }
}
`;

const withoutJava = Bun.which("java") ? "" : " (skipped: there is no java)";
test.skipIf(withoutJava !== "")(
  `the HTTP client of Java, with 100-Continue before its body${withoutJava}: 417, and 201 without 100-Continue`,
  async () => {
    const folder = await newFolder();
    await writeFile(join(folder, "Main.java"), EXPECTING_PROGRAM);
    expect(await runIn(folder, ["java", "Main.java"], await settings())).toBe("417\n201\n");
  },
  60_000,
);

const withoutMaven = Bun.which("mvn") && Bun.which("java") ? "" : " (skipped: there is no java or no mvn)";
const GENERATOR = "org.openapitools:openapi-generator-cli:7.16.0";
const FETCH_PROGRAM = `
import { AvatarsApi, Configuration } from "./client";
declare const process: { env: Record<string, string> };
const { BASE_URL, API_KEY } = process.env;
const avatars = new AvatarsApi(new Configuration({ basePath: BASE_URL, accessToken: API_KEY }));
const avatar = await avatars.createAvatar({ createAvatar: { displayName: "Ada", sourceKind: "image" } });
console.log(avatar.displayName, (await avatars.listAvatars({})).data.length);
`;

/** Generates a client into the folder `client`, with openapi-generator and its default settings. */
const generate = async (generator: string): Promise<string> => {
  const folder = await newFolder();
  const copy = ["-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"];
  await runIn(folder, ["mvn", ...copy, `-Dartifact=${GENERATOR}`, "-DoutputDirectory=generator"]);
  const [jar = ""] = await readdir(join(folder, "generator"));
  const options = ["-i", DOCUMENT, "-o", "client", "-g", ...generator.split(" ")];
  await runIn(folder, ["java", "-jar", join("generator", jar), "generate", ...options]);
  return folder;
};

test.skipIf(!LONG || withoutMaven !== "")(
  `openapi-generator for typescript-fetch, with LONG=1${withoutMaven}: compiled, and called`,
  async () => {
    const folder = await generate("typescript-fetch");
    await writeFile(join(folder, "main.ts"), FETCH_PROGRAM);
    await typeCheck(folder, "main.ts");
    await clearAvatars();
    expect(await runIn(folder, [process.execPath, "main.ts"], await settings())).toBe(EXPECTED);
  },
);

const { paths } = JSON.parse(await readFile(DOCUMENT, "utf8")) as typeof import("../../../../docs/openapi.json");
/**
 * The arguments for the list of avatars without filters. Java and Rust have no named arguments, and so need one for
 * each parameter.
 */
const noFilters = (none: string): string => paths["/api/v1/avatars"].get.parameters.map(() => none).join(", ");

const JAVA_PROGRAM = `
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AvatarsApi;
import org.openapitools.client.model.CreateAvatar;

public class Main {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv("API_KEY")));
    AvatarsApi avatars = new AvatarsApi(client);
    CreateAvatar body = new CreateAvatar().displayName("Ada").sourceKind(CreateAvatar.SourceKindEnum.IMAGE);
    String name = avatars.createAvatar(body, null, null, null, null).getDisplayName();
    int count = avatars.listAvatars(${noFilters("null")}).getData().size();
    System.out.println(name + " " + count);
  }
}
`;

test.skipIf(!LONG || withoutMaven !== "")(
  `openapi-generator for java, with LONG=1${withoutMaven}: compiled, and called`,
  async () => {
    const folder = join(await generate("java --library native"), "client");
    await writeFile(join(folder, "src/main/java/Main.java"), JAVA_PROGRAM);
    const classpath = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
    await runIn(folder, ["mvn", "-q", "-B", "-DskipTests", "compile", classpath, "-Dmdep.outputFile=classpath"]);
    const libraries = await readFile(join(folder, "classpath"), "utf8");
    await clearAvatars();
    const command = ["java", "-cp", `target/classes:${libraries.trim()}`, "Main"];
    expect(await runIn(folder, command, await settings())).toBe(EXPECTED);
  },
);

const withoutCargo = withoutMaven || (Bun.which("cargo") ? "" : " (skipped: there is no cargo)");
const RUST_PROGRAM = `
use openapi::{apis::{avatars_api, configuration::Configuration}, models};

#[tokio::main]
async fn main() {
    let variable = |name| std::env::var(name).unwrap();
    let mut configuration = Configuration::new();
    configuration.base_path = variable("BASE_URL");
    configuration.bearer_access_token = Some(variable("API_KEY"));
    let body = models::CreateAvatar::new("Ada".into(), models::create_avatar::SourceKind::Image);
    let avatar = avatars_api::create_avatar(&configuration, body, None, None, None, None).await.unwrap();
    let page = avatars_api::list_avatars(&configuration, ${noFilters("None")}).await.unwrap();
    println!("{} {}", avatar.display_name, page.data.len());
}
`;

test.skipIf(!LONG || withoutCargo !== "")(
  `openapi-generator for rust, with LONG=1${withoutCargo}: compiled, and called`,
  async () => {
    const folder = join(await generate("rust"), "client");
    await writeFile(join(folder, "src/main.rs"), RUST_PROGRAM);
    await runIn(folder, ["cargo", "add", "--quiet", "tokio@1", "--features", "macros,rt-multi-thread"]);
    await clearAvatars();
    // The test service speaks plain HTTP.
    const command = ["cargo", "run", "--quiet", "--no-default-features"];
    const env = { ...(await settings()), CARGO_PROFILE_DEV_DEBUG: "0" };
    expect(await runIn(folder, command, env)).toBe(EXPECTED);
  },
  1_800_000,
);
