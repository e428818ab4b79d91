package guardian

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ReleaseSharedMemory removes what PostgreSQL servers whose data is below dir, a
// temporary directory of the run, have left in shared memory: a server or an
// initdb that was killed leaves it to the next start on the same data, which may
// not come. All processes in dir must be dead. What is not proven to be theirs
// stays.
func ReleaseSharedMemory(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "postmaster.pid"))
	for _, file := range files {
		if s, err := segmentOf(file); err == nil {
			as(s.data.Uid, s.release)
		}
	}
}

// as does something as the user uid, if we are root. It suffices, and in a
// container it may be needed: a root without CAP_IPC_OWNER and CAP_SYS_ADMIN has
// no right to the segments of others.
func as(uid uint32, do func()) {
	if os.Geteuid() != 0 || uid == 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		_ = setEffective(int(uid)) // else do what we can
		do()
		if setEffective(0) == nil { // else the thread ends with us
			runtime.UnlockOSThread()
		}
	}()
	<-done
}

// setEffective changes the user of the calling thread alone.
func setEffective(uid int) error {
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); errno != 0 {
		return errno
	}
	return nil
}

// segment is the System V segment of the server in a data folder. Its header
// leads to the server's POSIX segments.
type segment struct {
	key, id int
	creator int // pid
	data    unix.Stat_t
}

// segmentOf finds the segment of the server that wrote a postmaster.pid: line 1
// holds its pid (negative without a postmaster, as under initdb), line 7 the
// segment's key and id. One that was killed before it wrote line 7 has tried the
// inode of its data folder as the key first.
func segmentOf(postmasterPid string) (segment, error) {
	f, err := os.Open(postmasterPid)
	if err != nil {
		return segment{}, err
	}
	defer f.Close()
	var lines []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	var s segment
	if len(lines) == 0 {
		return segment{}, errors.New("it is empty")
	}
	if s.creator, err = strconv.Atoi(lines[0]); err != nil {
		return segment{}, err
	}
	s.creator = max(s.creator, -s.creator)
	if err := unix.Stat(filepath.Dir(postmasterPid), &s.data); err != nil {
		return segment{}, err
	}
	if len(lines) >= 7 && strings.TrimSpace(lines[6]) != "" {
		var key uint64 // of a signed 32-bit number, written as an unsigned long
		_, err := fmt.Sscan(lines[6], &key, &s.id)
		s.key = int(int32(key))
		return s, err
	}
	s.key = int(int32(s.data.Ino))
	s.id, err = unix.SysvShmGet(s.key, 0, 0)
	return s, err
}

// release removes the segment, and what it leads to, if it is the one meant and
// nobody uses it.
func (s segment) release() {
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &d); err != nil {
		return
	}
	if int(d.Perm.Key) != s.key || d.Perm.Uid != s.data.Uid || int(d.Cpid) != s.creator || d.Nattch != 0 {
		return
	}
	if control := s.control(d); control != 0 {
		removePosixSegments(control, s.data.Uid)
	}
	_, _ = unix.SysvShmCtl(s.id, unix.IPC_RMID, nil)
}

// The header of the segment, PGShmemHeader of src/include/storage/pg_shmem.h,
// has been this since PostgreSQL 10 where a pointer has 64 bits:
//
//	 0 int32  magic        24 uint32 dsm_control
//	 4 int32  creatorPID   32 void*  index
//	 8 size_t totalsize    40 dev_t  device of the data folder
//	16 size_t freeoffset   48 ino_t  its inode
const (
	headerMagic = 679834894
	headerSize  = 56
)

// control is the handle of the server's control segment, 0 without one. A header
// that does not name the data folder where we look for it is none that we know.
func (s segment) control(d unix.SysvShmDesc) uint32 {
	if d.Segsz < headerSize {
		return 0
	}
	header, err := unix.SysvShmAttach(s.id, 0, unix.SHM_RDONLY)
	if err != nil {
		return 0
	}
	defer func() { _ = unix.SysvShmDetach(header) }()
	n := binary.NativeEndian
	if n.Uint32(header) != headerMagic || int(n.Uint32(header[4:])) != s.creator ||
		n.Uint64(header[40:]) != s.data.Dev || n.Uint64(header[48:]) != s.data.Ino {
		return 0
	}
	return n.Uint32(header[24:])
}

// The control segment, dsm_control_header of src/backend/storage/ipc/dsm.c, has
// been this since PostgreSQL 14 where a pointer has 64 bits:
//
//	0 uint32 magic      16 items of 40 bytes: 0 uint32 handle
//	4 uint32 nitems                           4 uint32 refcnt, 0 for none
//	8 uint32 maxitems                         8 what we do not need
const (
	controlMagic  = 0x9a503d32
	controlHeader = 16
	controlItem   = 40
)

// removePosixSegments removes the segments that the control segment lists, and
// then itself, as the next start would (dsm_cleanup_using_control_segment).
func removePosixSegments(control, owner uint32) {
	path := posixSegment(control)
	if !ownedFile(path, owner) {
		return
	}
	content, err := os.ReadFile(path)
	if err != nil || len(content) < controlHeader {
		return
	}
	n := binary.NativeEndian
	items, most := int(n.Uint32(content[4:])), int(n.Uint32(content[8:]))
	if n.Uint32(content) != controlMagic || items > most || len(content) != controlHeader+most*controlItem {
		return
	}
	for i := range items {
		item := content[controlHeader+i*controlItem:]
		handle, references := n.Uint32(item), n.Uint32(item[4:])
		if references == 0 || handle%2 != 0 { // an odd one is within the main segment
			continue
		}
		if listed := posixSegment(handle); ownedFile(listed, owner) {
			_ = os.Remove(listed)
		}
	}
	_ = os.Remove(path)
}

// posixSegment is the file that shm_open makes on Linux, see shm_overview(7).
func posixSegment(handle uint32) string { return fmt.Sprintf("/dev/shm/PostgreSQL.%d", handle) }

func ownedFile(path string, owner uint32) bool {
	var s unix.Stat_t
	err := unix.Lstat(path, &s)
	return err == nil && s.Mode&unix.S_IFMT == unix.S_IFREG && s.Uid == owner && s.Nlink == 1
}
