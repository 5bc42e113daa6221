// Unpacks the page's code and runs it. The policy of the page knows the code's digest, so no other text would run.
import { unpacked } from "./data.js";

unpacked(document.getElementById("code")?.textContent ?? "").then(
  (code) => {
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = code;
    document.body.append(script);
  },
  (problem) => {
    const notice = document.querySelector("#page .notice");
    if (notice) notice.textContent = `The page needs a browser with DecompressionStream: ${problem.message}.`;
    document.getElementById("page")?.setAttribute("aria-busy", "false");
    throw problem;
  },
);
