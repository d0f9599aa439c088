// The page's address has the streams of the conversation: #ID,ID. A reload reads them again, from their beginnings, and the
// browser's own EventSource goes on where it was when a connection, or the relay, has ended.
"use strict";

const relay = new URLSearchParams(location.search).get("relay") ?? "http://127.0.0.1:8080";
const list = document.querySelector("main");
const form = document.querySelector("form");
let running = null;
let isLeaving = false;

/// The streams of the address, and those that the page before a reload has added: it may have changed its address when
/// the reload had begun.
function streams() {
    const [own, known] = [location.hash.slice(1), sessionStorage.getItem("streams") ?? ""];
    return (known.startsWith(own) ? known : own).split(",").filter(id => /^[0-9a-f]{32}$/.test(id));
}

function paragraph(kind, text) {
    const element = document.createElement("p");
    element.className = kind;
    // Text is never HTML.
    element.textContent = text;
    list.append(element);
    element.scrollIntoView({ block: "end" });
    return element;
}

/// Shows a stream from its beginning, and follows it to its end.
function show(id) {
    paragraph("question", sessionStorage.getItem(id) ?? "…");
    const answer = paragraph("answer running", "");
    const source = new EventSource(`${relay}/streams/${id}`);
    const end = failure => {
        source.close();
        answer.classList.remove("running");
        if (failure) paragraph("failed", failure);
        if (running?.id === id) running = null;
        form.stop.hidden = running === null;
    };
    running = { id, end };
    form.stop.hidden = false;
    source.addEventListener("text", event => answer.append(JSON.parse(event.data)));
    source.addEventListener("refusal", event => answer.append(JSON.parse(event.data)));
    source.addEventListener("restarted", () => answer.replaceChildren());
    source.addEventListener("completed", () => end());
    source.addEventListener("failed", event => end(`The answer ends here: ${JSON.parse(event.data).code}`));
    // The browser connects again by itself, unless the relay has said that there is no such stream.
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) end("This answer is no longer there."); };
}

/// Starts the answer to a message. One that was sent, and whose answer a reload has kept from arriving, is sent again under
/// its key: the relay makes one stream of it.
async function send(message) {
    sessionStorage.setItem("pending", JSON.stringify(message));
    const body = { input: message.text };
    const previous = streams().at(-1);
    if (previous) body.previous_response_id = `resp_${previous}`;
    try {
        const response = await fetch(`${relay}/streams`, {
            method: "POST", body: JSON.stringify(body),
            headers: { "Content-Type": "application/json", "Idempotency-Key": message.key },
        });
        const answer = await response.json();
        if (!response.ok) throw new Error(answer.error?.message ?? response.status);
        sessionStorage.setItem(answer.id, message.text);
        sessionStorage.setItem("streams", [...streams(), answer.id].join(","));
        history.replaceState(null, "", `#${streams().join(",")}`);
        show(answer.id);
    } catch (error) {
        // A reload ends the request: the next page sends it again.
        if (isLeaving) return;
        paragraph("failed", `The message was not sent: ${error.message}`);
        form.text.value = message.text;
    }
    sessionStorage.removeItem("pending");
}

form.addEventListener("submit", event => {
    event.preventDefault();
    if (running) return;
    const message = { key: crypto.randomUUID(), text: form.text.value };
    form.text.value = "";
    send(message);
});
form.stop.addEventListener("click", () => running && fetch(`${relay}/streams/${running.id}`, { method: "DELETE" }));

addEventListener("pagehide", () => { isLeaving = true; });
for (const id of streams()) show(id);
const pending = sessionStorage.getItem("pending");
if (pending) send(JSON.parse(pending));
