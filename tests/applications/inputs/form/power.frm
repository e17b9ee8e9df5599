#-
Symbols x,y,z,w;
Off Statistics;
Local F = (x+y+z+w)^14;
.sort
id x = y - z;
.sort
id w = y + 2*z;
Print +s;
.end
