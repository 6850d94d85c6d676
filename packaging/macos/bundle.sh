#!/bin/sh
# A macOS bundle and disk image of the frozen program. Not tested here: it was written on Linux.
# First: python3 packaging/dev.py build frozen     then: sh packaging/macos/bundle.sh 0.1.0
set -eu
version=${1:?give the version: bundle.sh 0.1.0}
root=$(cd "$(dirname "$0")/../.." && pwd)
frozen="$root/build/frozen/graymatter-desktop"
app="$root/build/GrayMatter.app"
test -x "$frozen/graymatter-desktop" || { echo "build the frozen program first" >&2; exit 1; }

rm -rf "$app"
mkdir -p "$app/Contents/MacOS" "$app/Contents/Resources"
cp -R "$frozen/." "$app/Contents/MacOS/"

icons="$root/build/GrayMatter.iconset"
rm -rf "$icons"
mkdir -p "$icons" "$root/build/icons"
"$root/build/tools/bin/python" "$root/packaging/linux/icons.py" "$root/build/icons" 16 32 64 128 256 512
for size in 16 32 128 256 512; do
    cp "$root/build/icons/${size}x${size}/apps/graymatter-desktop.png" "$icons/icon_${size}x${size}.png"
done
iconutil -c icns -o "$app/Contents/Resources/GrayMatter.icns" "$icons"

cat > "$app/Contents/Info.plist" <<EOF
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>CFBundleName</key><string>GrayMatter</string>
<key>CFBundleIdentifier</key><string>graymatter-desktop</string>
<key>CFBundleExecutable</key><string>graymatter-desktop</string>
<key>CFBundleIconFile</key><string>GrayMatter</string>
<key>CFBundleShortVersionString</key><string>$version</string>
<key>CFBundlePackageType</key><string>APPL</string>
<key>NSHighResolutionCapable</key><true/>
</dict></plist>
EOF
codesign --force --deep --sign - "$app"
hdiutil create -volname GrayMatter -srcfolder "$app" -ov -format UDZO "$root/dist/graymatter-desktop-$version.dmg"
