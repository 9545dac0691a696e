"""What people read: tables for a terminal, figures, and the HTML report.

tables.py summary.py inspection.py comparison.py    text
figures/ palette.py                                 pictures by matplotlib, and the colours of all
page.py page.html page.css page.js                  the report: sections.py says what is in it, charts.py and layers.py
                                                    draw it, runs.py and metrics.py read it, verdicts.py judge it,
                                                    thinning.py leaves out what no eye would see
"""
