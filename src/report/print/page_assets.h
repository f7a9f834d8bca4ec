/* The style and the script of a report. */
#ifndef LGV_REPORT_PRINT_PAGE_ASSETS_H
#define LGV_REPORT_PRINT_PAGE_ASSETS_H

extern const char lgv__page_style[], lgv__page_script[];

#endif
