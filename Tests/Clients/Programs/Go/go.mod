module certified

go 1.19

require example.org/headgate v0.2.0

replace example.org/headgate => ../../../../Packages/Client/Go
