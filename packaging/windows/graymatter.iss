; Installer for Windows, for Inno Setup 6. Not tested here: it was written on Linux.
; First: py packaging\dev.py build frozen     then: iscc /DVersion=0.1.0 packaging\windows\graymatter.iss

#ifndef Version
  #error Give the version: iscc /DVersion=0.1.0 graymatter.iss
#endif

[Setup]
AppId={{6B7C6C39-6C7C-4B63-9B0E-7F0E6E1D2A51}
AppName=GrayMatter
AppVersion={#Version}
DefaultDirName={autopf}\GrayMatter
DefaultGroupName=GrayMatter
PrivilegesRequired=lowest
ArchitecturesInstallIn64BitMode=x64compatible
OutputDir=..\..\dist
OutputBaseFilename=graymatter-desktop-{#Version}-setup
Compression=lzma2
SolidCompression=yes
LicenseFile=..\..\LICENSE
ChangesEnvironment=yes

[Files]
Source: "..\..\build\frozen\graymatter-desktop\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{group}\GrayMatter"; Filename: "{app}\graymatter-desktop.exe"

[Tasks]
Name: path; Description: "Find the command graymatter in every terminal"; Flags: unchecked

[Registry]
Root: HKCU; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Tasks: path

[Run]
Filename: "{app}\graymatter-desktop.exe"; Description: "Start GrayMatter"; Flags: postinstall nowait skipifsilent
