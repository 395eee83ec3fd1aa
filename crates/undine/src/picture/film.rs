//! Films: MP4 through ffmpeg where it is found, else an animated PNG written here.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::image::{Image, png_encoder, png_error};
use crate::atomic::temporary_name;

/// Why a film could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FilmError {
    /// The file could not be written, or ffmpeg not be fed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The film.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// ffmpeg ended with an error.
    #[error("{}: ffmpeg failed: {message}", path.display())]
    Ffmpeg {
        /// The film.
        path: PathBuf,
        /// Its last words.
        message: String,
    },
    /// A picture has another size than the first.
    #[error("expected {expected:?} pixels as in the first picture, found {found:?}")]
    Size {
        /// Width and height of the film.
        expected: [usize; 2],
        /// Those of the picture.
        found: [usize; 2],
    },
    /// A film was to have no pictures, more than 2³¹, or a rate that is no positive number.
    #[error("expected 1 to 2147483647 pictures at a rate above 0, found {pictures} at {rate} a second")]
    Plan {
        /// Number of pictures announced.
        pictures: usize,
        /// Pictures a second.
        rate: f64,
    },
    /// Fewer or more pictures came than were announced.
    #[error("expected {expected} pictures, found {found}")]
    Count {
        /// Pictures announced.
        expected: usize,
        /// Pictures that came.
        found: usize,
    },
}

/// A film that takes pictures one by one. It is written under a temporary name and renamed by [`Film::finish`];
/// dropped before, it vanishes.
pub struct Film {
    path: PathBuf,
    temporary: PathBuf,
    size: [usize; 2],
    expected: usize,
    found: usize,
    sink: Option<Sink>,
}

enum Sink {
    Ffmpeg(Child),
    Png(Box<png::Writer<BufWriter<File>>>),
}

/// Whether `ffmpeg` can be started.
pub fn ffmpeg_found() -> bool {
    let (input, output, errors) = (Stdio::null(), Stdio::null(), Stdio::null());
    let run = Command::new("ffmpeg").arg("-version").stdin(input).stdout(output).stderr(errors).status();
    run.is_ok_and(|status| status.success())
}

impl Film {
    /// Starts a film of `pictures` pictures of `size` (width, height) at `rate` pictures a second. A path that ends
    /// in `.mp4` (or another ending that ffmpeg knows) goes through ffmpeg; `.png` and `.apng` are written here.
    pub fn create(path: &Path, size: [usize; 2], rate: f64, pictures: usize) -> Result<Self, FilmError> {
        if pictures == 0 || pictures > i32::MAX as usize || !(rate > 0.0 && rate.is_finite()) {
            return Err(FilmError::Plan { pictures, rate });
        }
        let fail = |source| FilmError::Io { path: path.to_path_buf(), source };
        let name = path.file_name().ok_or_else(|| fail(io::ErrorKind::IsADirectory.into()))?;
        let mut temporary = temporary_name(name);
        if let Some(ending) = path.extension() {
            // ffmpeg chooses the format by the ending.
            temporary.push(".");
            temporary.push(ending);
        }
        let temporary = path.with_file_name(temporary);
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        let sink = if ending == "png" || ending == "apng" {
            let file = BufWriter::new(File::create(&temporary).map_err(fail)?);
            let mut encoder = png_encoder(file, size[0], size[1]);
            encoder.set_animated(pictures as u32, 0).map_err(|e| fail(png_error(e)))?;
            let (time, per) = delay(rate);
            encoder.set_frame_delay(time, per).map_err(|e| fail(png_error(e)))?;
            Sink::Png(Box::new(encoder.write_header().map_err(|e| fail(png_error(e)))?))
        } else {
            let child = Command::new("ffmpeg")
                .args(["-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"])
                .args(["-s", &format!("{}x{}", size[0], size[1]), "-r", &rate.to_string(), "-i", "-"])
                // Players want even sizes and 4:2:0.
                .args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-crf", "18"])
                // Browsers begin to play an MP4 that has its index in front.
                .args(if ending == "mp4" { &["-movflags", "+faststart"][..] } else { &[] })
                .arg(&temporary)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .map_err(fail)?;
            Sink::Ffmpeg(child)
        };
        Ok(Self { path: path.to_path_buf(), temporary, size, expected: pictures, found: 0, sink: Some(sink) })
    }

    /// Adds the next picture.
    pub fn push(&mut self, image: &Image) -> Result<(), FilmError> {
        let found = [image.width(), image.height()];
        if found != self.size {
            return Err(FilmError::Size { expected: self.size, found });
        }
        if self.found == self.expected {
            return Err(FilmError::Count { expected: self.expected, found: self.found + 1 });
        }
        let written = match &mut self.sink {
            Some(Sink::Png(writer)) => writer.write_image_data(image.bytes()).map_err(png_error),
            Some(Sink::Ffmpeg(child)) => match &mut child.stdin {
                Some(input) => input.write_all(image.bytes()),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            None => Ok(()),
        };
        self.found += 1;
        written.map_err(|source| self.trouble(source))
    }

    /// Ends the film and puts it in its place.
    pub fn finish(mut self) -> Result<(), FilmError> {
        if self.found != self.expected {
            return Err(FilmError::Count { expected: self.expected, found: self.found });
        }
        match self.sink.take() {
            Some(Sink::Png(writer)) => writer.finish().map_err(|e| self.io(png_error(e)))?,
            Some(Sink::Ffmpeg(child)) => self.end_ffmpeg(child)?,
            None => {}
        }
        std::fs::rename(&self.temporary, &self.path).map_err(|e| self.io(e))
    }

    fn io(&self, source: io::Error) -> FilmError {
        FilmError::Io { path: self.path.clone(), source }
    }

    /// Closes ffmpeg's input, waits for it and asks how it went.
    fn end_ffmpeg(&self, mut child: Child) -> Result<(), FilmError> {
        drop(child.stdin.take());
        let end = child.wait_with_output().map_err(|e| self.io(e))?;
        if end.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&end.stderr);
        let message = words.lines().last().unwrap_or("no message").to_string();
        Err(FilmError::Ffmpeg { path: self.path.clone(), message })
    }

    /// A broken pipe means that ffmpeg has ended: its own words tell more.
    fn trouble(&mut self, source: io::Error) -> FilmError {
        match self.sink.take() {
            Some(Sink::Ffmpeg(child)) => self.end_ffmpeg(child).err().unwrap_or_else(|| self.io(source)),
            other => {
                self.sink = other;
                self.io(source)
            }
        }
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        if let Some(Sink::Ffmpeg(mut child)) = self.sink.take() {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
        // Gone already when the film was finished.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Time of one picture as a fraction of a second, near 1/rate.
fn delay(rate: f64) -> (u16, u16) {
    if rate.fract() == 0.0 && rate <= 65_535.0 {
        return (1, rate as u16);
    }
    if rate < 1.0 {
        ((1000.0 / rate).min(65_535.0) as u16, 1000)
    } else {
        (1000, (1000.0 * rate).min(65_535.0) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::tests::Scratch;

    fn pictures() -> Vec<Image> {
        (0..4u8).map(|i| Image::new(12, 8, [60 * i, 20, 200 - 40 * i])).collect()
    }

    #[test]
    fn an_animated_png_gives_back_every_picture() {
        let folder = Scratch::new("film-apng");
        let path = folder.0.join("film.png");
        let mut film = Film::create(&path, [12, 8], 30.0, 4).unwrap();
        pictures().iter().for_each(|p| film.push(p).unwrap());
        film.finish().unwrap();
        let file = io::BufReader::new(File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 4);
        for picture in pictures() {
            let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut bytes).unwrap();
            assert_eq!(&bytes[..info.buffer_size()], picture.bytes());
        }
        assert_eq!(folder.names(), ["film.png"]);
    }

    #[test]
    fn an_unfinished_film_leaves_nothing_behind() {
        let folder = Scratch::new("film-dropped");
        let mut film = Film::create(&folder.0.join("film.apng"), [12, 8], 24.0, 4).unwrap();
        film.push(&pictures()[0]).unwrap();
        assert!(matches!(film.push(&Image::new(5, 5, [0; 3])), Err(FilmError::Size { .. })));
        assert!(matches!(film.finish(), Err(FilmError::Count { expected: 4, found: 1 })));
        assert!(folder.names().is_empty());
    }

    #[test]
    fn films_that_cannot_be_are_refused() {
        let folder = Scratch::new("film-refused");
        for (rate, count) in [(0.0, 3), (f64::NAN, 3), (-5.0, 3), (30.0, 0)] {
            let film = Film::create(&folder.0.join("film.png"), [4, 4], rate, count);
            assert!(matches!(film, Err(FilmError::Plan { .. })));
        }
        let missing = Film::create(&folder.0.join("none/film.png"), [4, 4], 30.0, 1);
        assert!(matches!(missing, Err(FilmError::Io { .. })));
    }

    #[test]
    fn delays_are_near_one_over_the_rate() {
        for rate in [0.05, 0.5, 1.0, 23.976, 30.0, 59.94, 60.0, 240.0] {
            let (time, per) = delay(rate);
            assert!((f64::from(time) / f64::from(per) * rate - 1.0).abs() < 0.1, "{rate}");
        }
    }

    #[test]
    fn ffmpeg_makes_an_mp4_where_it_is_found() {
        if !ffmpeg_found() {
            return;
        }
        let folder = Scratch::new("film-mp4");
        let path = folder.0.join("film.mp4");
        let mut film = Film::create(&path, [12, 8], 30.0, 4).unwrap();
        pictures().iter().for_each(|p| film.push(p).unwrap());
        film.finish().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 100);
        assert_eq!(folder.names(), ["film.mp4"]);
        // ffprobe comes with ffmpeg.
        let counted = Command::new("ffprobe")
            .args(["-v", "error", "-count_frames", "-show_entries"])
            .args(["stream=codec_name,pix_fmt,width,height,r_frame_rate,nb_read_frames", "-of", "csv=p=0"])
            .arg(&path)
            .output();
        if let Ok(counted) = counted {
            let said = String::from_utf8_lossy(&counted.stdout).trim().to_owned();
            assert!(said.ends_with("12,8,yuv420p,30/1,4"), "{said}");
        }
    }
}
