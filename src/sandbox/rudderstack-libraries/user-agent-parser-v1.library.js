/**
 * Browser, engine, operating system, device and processor of a user agent. The first pattern of a
 * table that fits decides. A group of a pattern is the version, or else the model.
 */

/** Longest part of a user agent that is read. */
const CHARS_MAX = 500;

const browsers = [
  [/\b(?:edge|edga|edgios|edg)\/([\w.]+)/i, "Edge"],
  [/\bopios[/ ]+([\w.]+)/i, "Opera Mini"],
  [/\bopera mini\/([\w.]+)/i, "Opera Mini"],
  [/\b(?:opera mobi|opt)\b.*?(?:version\/|opt\/)([\w.]+)/i, "Opera Touch"],
  [/\bopr\/([\w.]+)/i, "Opera"],
  [/\bopera\b.+version\/([\w.]+)/i, "Opera"],
  [/\bopera[/ ]([\w.]+)/i, "Opera"],
  [/\bsamsungbrowser\/([\w.]+)/i, "Samsung Browser"],
  [/\b(?:ucbrowser|uc browser)\/?([\w.]+)/i, "UCBrowser"],
  [/\bmiuibrowser\/([\w.]+)/i, "MIUI Browser"],
  [/\bhuaweibrowser\/([\w.]+)/i, "Huawei Browser"],
  [/\byabrowser\/([\w.]+)/i, "Yandex"],
  [/\bvivaldi\/([\w.]+)/i, "Vivaldi"],
  [/\bduckduckgo\/([\w.]+)/i, "DuckDuckGo"],
  [/\bwhale\/([\w.]+)/i, "Whale"],
  [/\bsilk\/([\w.]+)/i, "Silk"],
  [/\bmicromessenger\/([\w.]+)/i, "WeChat"],
  [/\binstagram[/ ]([\w.]+)/i, "Instagram"],
  [/\bfb(?:av|an)\b.*?\bfbav\/([\w.]+)/i, "Facebook"],
  [/\bfb_iab\/.*?\bfbav\/([\w.]+)/i, "Facebook"],
  [/\bline\/([\w.]+)\/iab/i, "Line"],
  [/\bgsa\/([\w.]+)/i, "GSA"],
  [/\bklar\/([\w.]+)/i, "Klar"],
  [/\bfocus\/([\w.]+)/i, "Focus"],
  [/\bfxios\/([\w.]+)/i, "Firefox"],
  [/\bseamonkey\/([\w.]+)/i, "SeaMonkey"],
  [/\bheadlesschrome(?:\/([\w.]+)| )/i, "Chrome Headless"],
  [/ wv\).+\bchrome\/([\w.]+)/i, "Chrome WebView"],
  [/\belectron\/([\w.]+)/i, "Electron"],
  [/\bcrios\/([\w.]+)/i, "Chrome"],
  [/\bchromium\/([\w.]+)/i, "Chromium"],
  [/\bchrome\/([\w.]+)/i, "Chrome"],
  [/\bandroid.+version\/([\w.]+).+mobile safari/i, "Android Browser"],
  [/\bversion\/([\w.]+).+mobile\/\w+.*safari/i, "Mobile Safari"],
  [/\bversion\/([\w.]+) .*safari\//i, "Safari"],
  [/\bfirefox\/([\w.]+)/i, "Firefox"],
  [/\bmsie ([\w.]+)/i, "IE"],
  [/\btrident\/.+\brv:([\w.]+)/i, "IE"],
  [/\bkonqueror\/([\w.]+)/i, "Konqueror"],
  [/\blynx\/([\w.]+)/i, "Lynx"],
];

const engines = [
  [/\bedge\/([\w.]+)/i, "EdgeHTML"],
  [/\bapplewebkit\/537\.36.+\b(?:headless)?chrom(?:e|ium)\/(?!27\b)([\w.]+)/i, "Blink"],
  [/\bpresto\/([\w.]+)/i, "Presto"],
  [/\btrident\/([\w.]+)/i, "Trident"],
  [/\b(?:apple)?webkit\/([\w.]+)/i, "WebKit"],
  [/\bkhtml\/([\w.]+)/i, "KHTML"],
  [/\brv:([\w.]{1,9})\b.+\bgecko\//i, "Gecko"],
];

const windowsVersions = {
  "10.0": "10",
  6.4: "10",
  6.3: "8.1",
  6.2: "8",
  6.1: "7",
  "6.0": "Vista",
  5.2: "XP",
  5.1: "XP",
  "5.0": "2000",
};

const systems = [
  [/\bwindows phone(?: os)?[ /]?([\d.]+)?/i, "Windows Phone"],
  [/\bwindows nt ([\d.]+)/i, "Windows", (version) => windowsVersions[version] ?? version],
  [/\bwindows[ /]([\w.]+)/i, "Windows"],
  [/\b(?:iphone|ipad|ipod)\b.*?\bos ([\d_]+)/i, "iOS"],
  [/\bcfnetwork\/.+darwin/i, "iOS"],
  [/\bmac os x ?([\d_.]+)?/i, "Mac OS"],
  [/\bharmonyos[ /-]?([\d.]+)?/i, "HarmonyOS"],
  [/\btizen[/ ]([\d.]+)/i, "Tizen"],
  [/\bkaios\/([\d.]+)/i, "KAIOS"],
  [/\b(?:web0s|webos|hpwos)[/ ;]*(?:linux\/)?([\d.]+)?/i, "webOS"],
  [/\bandroid[ /-]?([\d.]+)?/i, "Android"],
  [/\bcros [\w]+ ([\d.]+)/i, "Chromium OS"],
  [/\bblackberry.*?version\/([\d.]+)/i, "BlackBerry"],
  [/\bplaystation ([\w.]+)/i, "PlayStation"],
  [/\bnintendo (\w+)/i, "Nintendo"],
  [/\b(ubuntu|debian|fedora|centos|mint|gentoo|arch)\b/i, undefined],
  [/\b(freebsd|openbsd|netbsd)\b/i, undefined],
  [/\bsunos\b/i, "Solaris"],
  [/\blinux\b/i, "Linux"],
];

/** Patterns of devices with vendor and type; a third part is the model where no group has it. */
const devices = [
  [/\b(ipad)\b/i, "Apple", "tablet", "iPad"],
  [/\b(iphone)\b/i, "Apple", "mobile", "iPhone"],
  [/\b(ipod)\b/i, "Apple", "mobile", "iPod touch"],
  [/\b(apple ?tv)\b/i, "Apple", "smarttv", "Apple TV"],
  [/\b(macintosh)\b/i, "Apple", undefined, "Macintosh"],
  [/\b(sm-t\w+|sm-x\w+|sm-p\w+|gt-p\w+|sch-i[89]0\d)\b/i, "Samsung", "tablet"],
  [/\b((?:s[cgp]h|gt|sm)-\w+|galaxy nexus)\b/i, "Samsung", "mobile"],
  [/\b(smart-?tv|maple).*?samsung|samsung.*?(smart-?tv)/i, "Samsung", "smarttv"],
  [/\b(pixel c)\b/i, "Google", "tablet"],
  [/; (pixel[\w ]*?)(?: build|\))/i, "Google", "mobile"],
  [/\b(chromecast|crkey)\b/i, "Google", "smarttv", "Chromecast"],
  [/\b(kf[a-z]{2,4}|aft[a-z]{1,4})\b/i, "Amazon", "tablet"],
  [/\b(nexus (?:7|9|10))\b/i, "Google", "tablet"],
  [/\b(nexus [\w]+)/i, "Google", "mobile"],
  [/; ((?:redmi|mi|poco)[\w +-]*?)(?: build|\))/i, "Xiaomi", "mobile"],
  [/; (m?2\d{6,7}\w{2,4})(?: build|\))/i, "Xiaomi", "mobile"],
  [/\b(moto[\w ()+]*?|xt\d{4}[\w-]*)(?: build|\))/i, "Motorola", "mobile"],
  [
    /; ((?:huawei|honor)[\w -]*?|(?:ane|ele|vog|eml|clt|lya|mar|pot|vtr)-\w+)(?: build|\))/i,
    "Huawei",
    "mobile",
  ],
  [/; (cph\d{4}|oppo \w+)/i, "OPPO", "mobile"],
  [/; (vivo \w+|v\d{4}\w?)(?: build|\))/i, "Vivo", "mobile"],
  [/; ((?:in|be|hd|gm|le|ne|kb|ac|ph)\d{4}|oneplus \w+)(?: build|\))/i, "OnePlus", "mobile"],
  [/\b(lg-?[a-z]\w+|lm-\w+)\b/i, "LG", "mobile"],
  [/\b(xq-\w+|so-\d\d\w|[ch]\d{4})(?: build|\))/i, "Sony", "mobile"],
  [/\bnokia[ _]?([\w.-]+)/i, "Nokia", "mobile"],
  [/\bplaystation ([\w. ]*\d)/i, "Sony", "console", "PlayStation"],
  [/\bxbox( one)?/i, "Microsoft", "console", "Xbox"],
  [/\bnintendo (switch|wiiu?|3ds)/i, "Nintendo", "console"],
  [/\b(smart-?tv|hbbtv|netcast|googletv|android tv|bravia|web0s)\b/i, undefined, "smarttv", null],
  [/\bandroid\b(?!.*\bmobile\b)/i, undefined, "tablet", null],
  [/\b(?:mobile|android)\b/i, undefined, "mobile", null],
];

const processors = [
  [/\b(?:amd64|x86_64|x64|wow64|win64)\b/i, "amd64"],
  [/\b(?:ia32|i[3-6]86|x86)\b/i, "ia32"],
  [/\b(?:aarch64|arm(?:v?8|64))\b/i, "arm64"],
  [/\barm(?:v[67])?(?:hf|l)?\b/i, "arm"],
  [/\b(?:ppc|powerpc)(?:64)?\b/i, "ppc"],
  [/\bsparc(?:64)?\b/i, "sparc"],
];

function firstFit(table, ua) {
  for (const row of table) {
    const match = row[0].exec(ua);
    if (match !== null) return { row, value: match.slice(1).find((it) => it !== undefined) };
  }
  return { row: [], value: undefined };
}

function browserOf(ua) {
  const { row, value } = firstFit(browsers, ua);
  return { name: row[1], version: value, major: value?.split(".", 1)[0] };
}

function engineOf(ua) {
  const { row, value } = firstFit(engines, ua);
  return { name: row[1], version: value };
}

function systemOf(ua) {
  const { row, value } = firstFit(systems, ua);
  const [pattern, name, translate = (version) => version] = row;
  if (pattern === undefined) return { name: undefined, version: undefined };
  // The group of a distribution is its name.
  if (name === undefined)
    return { name: value[0].toUpperCase() + value.slice(1), version: undefined };
  return { name, version: value && translate(value.replaceAll("_", ".")) };
}

function deviceOf(ua) {
  const { row, value } = firstFit(devices, ua);
  const [, vendor, type, model] = row;
  return { vendor, model: model === null ? undefined : (model ?? value?.trim()), type };
}

const processorOf = (ua) => ({ architecture: firstFit(processors, ua).row[1] });

export class UAParser {
  #ua = "";

  constructor(ua) {
    this.setUA(ua ?? "");
  }

  setUA(ua) {
    this.#ua = String(ua).slice(0, CHARS_MAX);
    return this;
  }

  getUA() {
    return this.#ua;
  }

  getBrowser() {
    return browserOf(this.#ua);
  }

  getEngine() {
    return engineOf(this.#ua);
  }

  getOS() {
    return systemOf(this.#ua);
  }

  getDevice() {
    return deviceOf(this.#ua);
  }

  getCPU() {
    return processorOf(this.#ua);
  }

  getResult() {
    return {
      ua: this.#ua,
      browser: this.getBrowser(),
      engine: this.getEngine(),
      os: this.getOS(),
      device: this.getDevice(),
      cpu: this.getCPU(),
    };
  }
}
