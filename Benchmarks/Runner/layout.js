// Says what is wrong with how the report is laid out: text that is cut, covered, too wide for the page, or too pale.
"use strict";

const tolerance = 1.5;
const leastContrast = 4.5;
const problems = [];

function visible(element) {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
}

function shown(element) {
    return `"${element.textContent.trim().slice(0, 40)}"`;
}

function overlaps(one, other) {
    return Math.min(one.right, other.right) - Math.max(one.left, other.left) > tolerance
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > tolerance * 2;
}

// Text of a chart stays in its card and off other text.
function checkChart(chart) {
    const card = chart.closest(".card").getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()]);
    const name = chart.closest(".card").id;
    texts.forEach(([text, box], index) => {
        if (box.left < card.left || box.right > card.right || box.top < card.top || box.bottom > card.bottom) {
            problems.push(`${name}: ${shown(text)} is outside of its card`);
        }
        for (const [other, otherBox] of texts.slice(index + 1)) {
            if (overlaps(box, otherBox)) problems.push(`${name}: ${shown(text)} and ${shown(other)} overlap`);
        }
    });
}

// Red, green, blue and opacity, between 0 and 255 and between 0 and 1.
function parts(color) {
    const numbers = color.match(/[\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
}

function luminance([red, green, blue]) {
    const linear = [red, green, blue].map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function background(element) {
    for (let parent = element; parent; parent = parent.parentElement) {
        const color = parts(getComputedStyle(parent).backgroundColor);
        if (color[3] > 0) return color;
    }
    return [255, 255, 255, 1];
}

function checkContrast(element) {
    const style = getComputedStyle(element);
    const color = parts(element instanceof SVGElement ? style.fill : style.color);
    const [light, dark] = [luminance(color), luminance(background(element))].sort((one, other) => other - one);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < leastContrast) problems.push(`${shown(element)} has a contrast of ${contrast.toFixed(1)} only`);
}

function checkPage() {
    if (document.documentElement.scrollWidth > window.innerWidth) {
        problems.push(`the page is ${document.documentElement.scrollWidth} wide in ${window.innerWidth}`);
    }
    [...document.querySelectorAll("svg")].filter(visible).forEach(checkChart);
    const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    const unseen = ["TITLE", "DESC", "STYLE", "SCRIPT"];
    const texts = [...document.querySelectorAll("body *")].filter(element =>
        visible(element) && hasText(element) && !unseen.includes(element.tagName.toUpperCase()));
    texts.forEach(checkContrast);
    for (const element of texts) {
        if (!(element instanceof SVGElement) && !element.closest(".scroll") && element.clientWidth > 0
            && element.scrollWidth > element.clientWidth + 1) problems.push(`${shown(element)} is cut`);
    }
}

window.addEventListener("load", () => {
    checkPage();
    const said = document.createElement("pre");
    said.id = "layout";
    said.textContent = JSON.stringify(
        { width: window.innerWidth, height: document.documentElement.scrollHeight,
          isDark: matchMedia("(prefers-color-scheme: dark)").matches, problems });
    document.body.replaceChildren(said);
});
