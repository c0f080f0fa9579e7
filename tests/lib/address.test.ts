import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressRefusedError, createAddressGuard, isLiteralHost, requireBaseUrl } from "../../src/lib/address.ts";

const strict = createAddressGuard({ trustedHosts: [] });

function trusting(...trustedHosts: string[]) {
  return createAddressGuard({ trustedHosts });
}

/** A host at a port; none: that of plain HTTP. */
function at(hostname: string, port = "") {
  return { hostname, port, protocol: "http:" };
}

const allowed = [
  "https://api.example.com/v1",
  "https://api.example.com/v1/chat?api-version=2024-01-01&x=%7B%7D",
  "https://API.Example.COM/v1",
  "http://8.8.8.8/",
  "https://[2606:4700::1111]/v1",
  "https://example.com/@handle/x@y",
  ...[80, 443, 3000, 5000, 8000, 8080, 8443, 8787, 9000, 11434, 32768, 49152, 65535].map(
    (p) => `http://example.com:${p}`,
  ),
];
for (const url of allowed) {
  test(`checkUrl() accepts ${url}`, () => assert.equal(strict.checkUrl(url).href, new URL(url).href));
}

const misspelt = [
  "",
  "api.example.com",
  "ftp://example.com/",
  "HTTP:example.com",
  "http:/example.com",
  "http:///example.com",
  "https://",
  "https://?x",
  "javascript:alert(1)",
  "file:///etc/passwd",
  "http://exa mple.com/",
  " http://example.com",
  "http://example.com\t",
  "http://exam\tple.com/",
  "http://example.com\n/",
  "http://example.com\\@evil.com/",
  "http://user@example.com/",
  "http://user:pass@example.com/",
  "http://example.com?x@evil.com/",
  "http://example.com/#x",
  "http://example.com#@evil.com/",
  "http://example.com/<x>",
  'http://example.com/"x',
  "http://example.com/{x}",
  "http://example.com/a|b",
  "http://example.com/a^b",
  "http://example.com/`",
  "http://exämple.com/",
  "http://example.com/é",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0x7f000001/",
  "http://0177.0.0.1/",
  "http://127.1/",
  "http://127.0.1/",
  "http://08.8.8.8/",
  "http://8.8.8.8./",
  "http://8.8.8/",
  "http://134744072/",
  "http://0x8.8.8.8/",
  "http://８.８.８.８/",
  "http://①②⑦.0.0.1/",
  "http://%38.8.8.8/",
  "http://ex%61mple.com/",
  "http://example.com%2f@evil.com/",
  "http://example。com/",
  "http://example.com./",
  "http://example..com/",
  "http://.example.com/",
  `http://${"a".repeat(64)}.com/`,
  "http://xn--exmple-cua.com/",
  "http://a.xn--p1ai/",
  "http://a.b.c.d.e.f.g.h.i.j.com/",
  "http://a_b.example.com/",
  "http://example.com:/",
  "http://example.com:0/",
  "http://example.com:080/",
  "http://example.com:65536/",
  "http://example.com:99999/",
  "http://example.com:80:80/",
  "http://example.com:+80/",
  "http://example.com: 80/",
  "http://[::ffff:8.8.8.8]/",
  "http://[2606:4700:0:0:0:0:0:1111]/",
  "http://[2606:4700::1111/",
  "http://2606:4700::1111/",
  "http://[fe80::1%25eth0]/",
  "http://[::1]x/",
  `http://example.com/${"a".repeat(2048)}`,
];
for (const url of misspelt) {
  test(`checkUrl() refuses ${JSON.stringify(url).slice(0, 60)} whatever hosts are trusted (O2)`, () => {
    assert.throws(() => strict.checkUrl(url), AddressRefusedError);
    const everything = trusting("127.0.0.1", "8.8.8.8", "example.com", "*.example.com", "[::1]", "2606:4700::1111");
    assert.throws(() => everything.checkUrl(url), AddressRefusedError);
  });
}

const servicePorts = [
  22, 25, 445, 2375, 2379, 3306, 5432, 6379, 6443, 9200, 10250, 11211, 27017, 1, 53, 111, 389, 2049,
];
for (const port of servicePorts) {
  test(`checkUrl() refuses service port ${port}, trusted or not (O3)`, () => {
    assert.throws(() => strict.checkUrl(`http://example.com:${port}/`), /another kind of service/);
    assert.throws(() => trusting("127.0.0.1").checkUrl(`http://127.0.0.1:${port}/`), /another kind of service/);
  });
}

const metadataHosts = [
  "169.254.169.254",
  "169.254.169.1",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "[fd00:ec2::254]",
  "[::ffff:a9fe:a9fe]",
  "[::a9fe:a9fe]",
  "[64:ff9b::a9fe:a9fe]",
  "[64:ff9b:1:a9fe:a9:fe00::]",
  "[2002:a9fe:a9fe::1]",
  "[2002:6464:64c8::]",
  "[2001:0:1:2:3:4:5601:5601]",
  "[2606:4700::5efe:a9fe:a9fe]",
  "[::ffff:0:a9fe:a9fe]",
  "metadata",
  "metadata.google.internal",
  "a.metadata.google.internal",
  "METADATA.google.internal",
  "metadata.goog",
  "kubernetes.default.svc",
  "x.svc.cluster.local",
  "consul",
  "ip-10-0-0-1.ec2.internal",
  "vm.internal.cloudapp.net",
  "127.0.0.1.nip.io",
  "nip.io",
  "a.sslip.io",
  "app.localtest.me",
  "lvh.me",
  "x.localhost.run",
];
for (const host of metadataHosts) {
  test(`checkUrl() refuses ${host}, trusted or not (O3)`, () => {
    assert.throws(() => strict.checkUrl(`http://${host}/`), /never allowed/);
    assert.throws(() => trusting(host, `*.${host}`).checkUrl(`http://${host}/`), /never allowed/);
  });
}

const privateHosts = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.1.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255",
  "[::]",
  "[::1]",
  "[fc00::1]",
  "[fd12:3456::1]",
  "[fe80::1]",
  "[fec0::1]",
  "[ff02::1]",
  "[2001::1]",
  "[100::1]",
  "[100:0:0:1::1]",
  "[::7f00:1]",
  "[::ffff:7f00:1]",
  "[::ffff:808:808]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::808:808]",
  "[64:ff9b:1::1]",
  "[2002:7f00:1::]",
  "[2001:db8::1]",
  "[3fff::1]",
  "[4000::1]",
  "[2001:10::1]",
  "[2001:20::1]",
  "[5f00::1]",
  "localhost",
  "LOCALHOST",
  "x.localhost",
  "printer.local",
  "a.localdomain",
  "a.internal",
  "a.intranet",
  "a.lan",
  "a.home",
  "a.corp",
  "a.test",
  "a.invalid",
  "a.onion",
  "local",
  "internal",
];
for (const host of privateHosts) {
  test(`checkUrl() refuses ${host} unless trusted (O4)`, () => {
    assert.throws(() => strict.checkUrl(`http://${host}:8080/v1`), /TRUSTED_CUSTOM_HOSTS/);
    assert.equal(trusting(host).checkUrl(`http://${host}:8080/v1`).port, "8080");
  });
}

test("checkUrl() returns a new URL to each caller", () => {
  const first = strict.checkUrl("https://example.com/v1");
  first.hostname = "127.0.0.1";
  assert.equal(strict.checkUrl("https://example.com/v1").hostname, "example.com");
});

test("checkUrl() reveals no resolved address and says what to change", () => {
  assert.throws(
    () => strict.checkUrl("http://10.1.2.3/"),
    (error) =>
      error instanceof AddressRefusedError &&
      !error.message.includes("10.1.2.3") &&
      error.reason.includes("public host"),
  );
});

test("requireBaseUrl() refuses a query (O11)", () => {
  assert.equal(requireBaseUrl(strict, "https://example.com/v1").pathname, "/v1");
  assert.throws(() => requireBaseUrl(strict, "https://example.com/v1?x=1"), AddressRefusedError);
  assert.throws(() => requireBaseUrl(strict, "https://example.com/v1?"), AddressRefusedError);
});

const trust: readonly [string, string, boolean][] = [
  ["localhost", "localhost", true],
  ["localhost", "x.localhost", false],
  ["*.localhost", "x.localhost", true],
  ["llm.lan", "a.llm.lan", false],
  ["*.llm.lan", "llm.lan", true],
  ["*.llm.lan", "a.b.LLM.lan", true],
  ["*.llm.lan", "xllm.lan", false],
  ["http://ollama.lan/v1", "ollama.lan", true],
  ["Ollama.LAN:80", "ollama.lan", true],
  [" ollama ", "ollama", true],
  ["127.0.0.1:8080", "127.0.0.1", false],
  ["127.0.0.1", "127.0.0.2", false],
  ["::1", "[::1]", true],
  ["[::1]", "::1", true],
  ["[::1]:8080", "[::1]", false],
  ["http://[::1]:80/", "[::1]", true],
  ["0:0:0:0:0:0:0:1", "[::1]", true],
  ["fd12::1", "[fd12::1]", true],
];
for (const [entry, host, expected] of trust) {
  test(`isTrusted() with "${entry}" is ${expected} for ${host} (O5)`, () => {
    assert.equal(trusting(entry).isTrusted(at(host)), expected);
  });
}

const ports: readonly [string, string, boolean][] = [
  ["llm.lan:11434", "http://llm.lan:11434/v1", true],
  ["http://LLM.lan:11434/v1", "http://llm.lan:11434/", true],
  ["llm.lan:11434", "http://llm.lan:11435/v1", false],
  ["llm.lan:11434", "http://llm.lan/v1", false],
  ["llm.lan:11434", "http://a.llm.lan:11434/v1", false],
  ["llm.lan:80", "http://llm.lan/v1", true],
  ["llm.lan:80", "https://llm.lan/v1", false],
  ["llm.lan:443", "https://llm.lan/v1", true],
  ["llm.lan", "http://llm.lan:11434/v1", true],
  ["*.lan:8000", "http://a.llm.lan:8000/", true],
  ["*.lan:8000", "http://a.llm.lan:8001/", false],
  ["127.0.0.1:8080", "http://127.0.0.1:8080/", true],
  ["127.0.0.1:8080", "http://127.0.0.1:18080/", false],
  ["[::1]:8080", "http://[::1]:8080/", true],
  ["[::1]:8080", "http://[::1]:8081/", false],
  ["0:0:0:0:0:0:0:1", "http://[::1]:8081/", true],
  ["::1:8080", "http://[::1]:8080/", false],
];
for (const [entry, url, isAllowed] of ports) {
  test(`checkUrl() with "${entry}" trusted ${isAllowed ? "accepts" : "refuses"} ${url}`, () => {
    const guard = trusting(entry);
    const target = new URL(url);
    assert.equal(guard.isTrusted(target), isAllowed);
    assert.equal(guard.allowsAddress(target, "10.0.0.1"), isAllowed);
    if (isAllowed) assert.equal(guard.checkUrl(url).href, target.href);
    else assert.throws(() => guard.checkUrl(url), AddressRefusedError);
  });
}

const dropped = [
  "169.254.169.254",
  "[fd00:ec2::254]",
  "::ffff:169.254.169.254",
  "metadata.google.internal",
  "*.google.internal",
  "*.internal",
  "*.cluster.local",
  "*.io",
  "x.nip.io",
  "*.com",
  "10.0.0.0/8",
  "fd00::/8",
  "*",
  "*.",
  "*.10.0.0.1",
  "a b",
  "127.1",
  "0x7f.1",
  "http://",
  "user@host",
  "*.a.*.b",
  "llm.lan:0",
  "llm.lan:65536",
  "llm.lan:6379",
  "llm.lan:",
  "llm.lan:x",
];
for (const entry of dropped) {
  test(`createAddressGuard() drops the entry "${entry}" with a warning (O5)`, () => {
    const warnings: string[] = [];
    const guard = createAddressGuard({ trustedHosts: [entry, "kept.lan"], warn: (message) => warnings.push(message) });
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0]?.includes(entry));
    assert.equal(guard.isTrusted(at("kept.lan")), true);
    assert.equal(guard.isTrusted(at("169.254.169.254")), false);
    assert.equal(guard.isTrusted(at("10.0.0.0")), false);
  });
}

test("allowsAddress() opens private networks to trusted hosts only, metadata to nobody", () => {
  const guard = trusting("llm.lan", "*.corp.example");
  for (const host of ["llm.lan", "a.corp.example"]) {
    for (const address of ["10.0.0.1", "127.0.0.1", "::1", "fd12::1", "fe80::1%eth0", "::ffff:10.0.0.1", "8.8.8.8"]) {
      assert.equal(guard.allowsAddress(at(host), address), true, `${host} ${address}`);
      assert.equal(guard.allowsAddress(at("evil.example"), address), address === "8.8.8.8", `evil ${address}`);
    }
    for (const address of [
      "169.254.169.254",
      "fd00:ec2::254",
      "::ffff:169.254.169.254",
      "64:ff9b::a9fe:a9fe",
      "2002:a9fe:a9fe::",
    ]) {
      assert.equal(guard.allowsAddress(at(host), address), false, `${host} ${address}`);
    }
  }
  assert.equal(guard.allowsAddress(at("evil.example"), "2606:4700::1111"), true);
  for (const odd of ["", "127.1", "0x7f.1", "2130706433", "example.com", "010.0.0.1"]) {
    assert.equal(guard.allowsAddress(at("llm.lan"), odd), false, odd);
  }
});

test("isLiteralHost() knows addresses from names", () => {
  for (const host of ["127.0.0.1", "8.8.8.8", "[::1]"]) assert.equal(isLiteralHost(host), true, host);
  for (const host of ["example.com", "1.2.3.4.example", "localhost", "127.1"])
    assert.equal(isLiteralHost(host), false, host);
});
