// Runs in the page before anything else; `tools/labpage.py` asks for the notebook through it.
window.course = {
  widget: () => window.jupyterapp.shell.currentWidget,
  panel: () => window.course.widget().node,
  scroller: () => window.course.panel().querySelector('.jp-WindowedPanel-outer'),
  shown: element => Boolean(element && element.getClientRects().length),
  frame: () => new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next))),

  // The status indicator says "idle" before there is a kernel, and "run all" without a kernel runs nothing,
  // clears the outputs and answers true. So ask the session itself.
  async ready() {
    const widget = window.course.widget();
    if (!widget?.sessionContext) return false;
    await widget.context.ready;
    await widget.sessionContext.ready;
    const kernel = widget.sessionContext.session?.kernel;
    return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
  },

  run(command, args) {
    window.course.ran = null;
    window.jupyterapp.commands.execute(command, args ?? {}).then(
      result => { window.course.ran = {ok: result !== false}; },
      error => { window.course.ran = {ok: false, why: String(error)}; },
    );
  },

  // Every output in the model (the page itself shows a traceback and plain stderr alike).
  outputs() {
    const cells = window.course.widget().content.model.cells;
    const all = [];
    for (let i = 0; i < cells.length; i++) {
      const cell = cells.get(i);
      if (cell.type !== 'code') continue;
      for (let j = 0; j < cell.outputs.length; j++)
        all.push({...cell.outputs.get(j).toJSON(), cell: i, id: cell.id});
    }
    return all;
  },

  // Widgets that should be drawn and are not. An output that holds a widget must show it: falling back to its
  // HTML or text is a failure too. (ToggleButtons have no class `jupyter-widgets`.)
  widgets() {
    const drawn = '.jupyter-widgets, [class*="widget-"]';
    const failed = [];
    let count = 0;
    window.course.widget().content.widgets.forEach((cell, index) => {
      if (cell.model.type !== 'code') return;
      const areas = cell.node.querySelectorAll('.jp-OutputArea-child');
      for (let j = 0; j < cell.model.outputs.length; j++) {
        if (!('application/vnd.jupyter.widget-view+json' in cell.model.outputs.get(j).data)) continue;
        const text = areas[j]?.textContent ?? '';
        const complaint = /(Error displaying|Error creating|Loading) widget.{0,160}/s.exec(text);
        if (complaint) failed.push(`cell ${index} output ${j}: ${complaint[0]}`);
        else if (!areas[j]?.querySelector(drawn))
          failed.push(`cell ${index} output ${j}: a widget in the model, none on the page: ${text.slice(0, 160)}`);
        else count++;
      }
    });
    return {count, failed};
  },

  loading: () => window.course.panel().textContent.includes('Loading widget'),

  async pictures() {
    const images = [...window.course.panel().querySelectorAll('img')].filter(window.course.shown);
    await Promise.allSettled(images.map(image => image.complete ? null : image.decode()));
    await document.fonts.ready;
  },

  // The text of every displayed element in document order: what a reader sees, without code being edited.
  text(root) {
    const walker = document.createTreeWalker(root ?? window.course.scroller(), NodeFilter.SHOW_TEXT);
    const parts = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (element.closest('style, script, .cm-editor, .jp-InputPrompt, .jp-OutputPrompt')) continue;
      if (node.data.trim() && window.course.shown(element)) parts.push(node.data.trim());
    }
    return parts.join('\n');
  },

  // Elements with a language whose visibility is not what the choice ("en", "zh", "both") asks for. Elements
  // inside a closed <details>, a hidden tab or another hidden part are not displayed anyway and are left out.
  wrongly_shown(choice) {
    const wrong = [];
    let looked = 0;
    // Widgets whose labels can hold one language only exist once per choice.
    for (const name of ['en', 'zh', 'both'])
      for (const element of window.course.panel().querySelectorAll(`.course-only-${name}`))
        if ((getComputedStyle(element).display !== 'none') !== (name === choice))
          wrong.push(`the variant for "${name}" is wrongly ${name === choice ? 'hidden' : 'shown'}: `
            + element.textContent.slice(0, 80));
    for (const element of window.course.panel().querySelectorAll('[lang]')) {
      const language = element.lang.split('-')[0];
      const wanted = choice === 'both' || language === choice;
      const displayed = getComputedStyle(element).display !== 'none';
      const outer = element.parentElement.closest('[lang]');
      if (outer && outer.lang.split('-')[0] !== language)
        wrong.push(`a <${element.tagName.toLowerCase()} lang="${element.lang}"> inside lang="${outer.lang}"`);
      looked++;
      if (displayed !== wanted)
        wrong.push(`<${element.tagName.toLowerCase()} lang="${element.lang}"> is ${displayed ? 'shown' : 'hidden'}: `
          + element.textContent.slice(0, 80));
    }
    return {wrong, looked};
  },

  // Milliseconds from a click to `done()`, with style and layout up to date.
  async timed(click, done) {
    const start = performance.now();
    click();
    while (!done()) {
      if (performance.now() - start > 5000) return null;
      await new Promise(next => {
        const channel = new MessageChannel();
        channel.port1.onmessage = next;
        channel.port2.postMessage(0);
      });
    }
    window.course.panel().offsetHeight;
    return performance.now() - start;
  },

  // What reaches beyond the right edge of its cell, or is cut off or scrolls sideways inside its own box.
  // Code in an editor and boxes of class course-scroll / course-console may scroll: they say so themselves.
  overflow() {
    const found = [];
    const name = e => `<${e.tagName.toLowerCase()} class="${e.className.baseVal ?? e.className}">`;
    const start = e => (e.innerText ?? '').slice(0, 70).replace(/\s+/g, ' ');
    const walk = (element, right) => {
      for (const child of element.children) {
        const style = getComputedStyle(child);
        if (style.display === 'none' || style.visibility === 'hidden') continue;
        if (child.matches('.cm-editor, .jp-Toolbar, .course-markers')) continue;
        const box = child.getBoundingClientRect();
        if (box.width > 1 && box.right > right + 1) {
          found.push(`${name(child)} reaches ${Math.round(box.right - right)} px beyond its cell: ${start(child)}`);
          continue;
        }
        const may_scroll = child.matches('.course-scroll, .course-console, select, input');
        if (style.overflowX !== 'visible' && child.clientWidth > 1 && child.scrollWidth > child.clientWidth + 1) {
          if (may_scroll) continue;
          found.push(`${name(child)} is ${child.clientWidth} px wide for ${child.scrollWidth} px of content: ${start(child)}`);
        }
        walk(child, right);
      }
    };
    const scroller = window.course.scroller();
    for (const cell of scroller.querySelectorAll('.jp-Cell')) walk(cell, cell.getBoundingClientRect().right);
    if (scroller.scrollWidth > scroller.clientWidth + 1)
      found.push(`the notebook scrolls sideways: ${scroller.clientWidth} px wide for ${scroller.scrollWidth} px`);
    return found;
  },

  // Scroll to `top`, wait for the cells there to be drawn, and say where we are.
  async scroll(top) {
    const scroller = window.course.scroller();
    scroller.scrollTop = top;
    await window.course.frame();
    return [scroller.scrollTop, scroller.clientHeight, scroller.scrollHeight];
  },
};
