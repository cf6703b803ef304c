"""Sum of End - Start by kernel name with Python's csv module. usage: csv_python.py FILE"""
import csv
import sys

total = {}
with open(sys.argv[1], newline="") as f:
    rows = csv.reader(f)
    header = next(rows)
    name, start, end = (header.index(c) for c in ("Kernel_Name", "Start_Timestamp", "End_Timestamp"))
    for row in rows:
        total[row[name]] = total.get(row[name], 0) + int(row[end]) - int(row[start])
print(sum(total.values()))
