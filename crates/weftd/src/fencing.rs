//! Options of fencing: M_Keys of each master's term, so that devices refuse what an earlier master still sends.

use std::path::PathBuf;

use weft_manager::sm::settings::Fencing;

use crate::error::DaemonError;
use crate::secret_file;

/// The secret of the site.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FencingArgs {
    /// Secret of the site, 32 to 4096 bytes that only the file's user may read, the same for all managers of the fabric: each
    /// time that a manager becomes master, ports get new M_Keys made of it, so that devices refuse what an earlier master
    /// still sends. No other manager can run such a fabric, and no inputs are recorded.
    #[arg(long, value_name = "FILE")]
    fencing_secret: Option<PathBuf>,
    /// Give the ports the MKey of the configuration back: before a manager without the secret is to run this fabric.
    #[arg(long, requires = "fencing_secret")]
    fencing_end: bool,
}

impl FencingArgs {
    /// Whether there is a secret.
    pub(crate) fn is_on(&self) -> bool {
        self.fencing_secret.is_some()
    }

    /// The secret; none where none is named.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where the file cannot be read, is too short or too long, or open to others.
    pub(crate) fn fencing(&self) -> Result<Option<Fencing>, DaemonError> {
        let Some(file) = &self.fencing_secret else {
            return Ok(None);
        };
        let name = file.display();
        let refuse = |why: String| DaemonError::Usage(format!("--fencing-secret {name}: {why}"));
        let secret = secret_file::read(file, *Fencing::SECRET.end() as u64).map_err(&refuse)?;
        let (least, most) = (Fencing::SECRET.start(), Fencing::SECRET.end());
        let len = secret.len();
        let fencing = Fencing::new(&secret, self.fencing_end).ok_or_else(|| {
            refuse(format!(
                "it has {len} bytes, allowed: {least} to {most}; openssl rand -out {name} 32 makes one"
            ))
        })?;
        Ok(Some(fencing))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_long_enough_and_for_its_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        let told = |bytes: &[u8], mode: u32| {
            std::fs::write(&file, bytes).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let args = FencingArgs {
                fencing_secret: Some(file.clone()),
                fencing_end: false,
            };
            args.fencing().map_err(|why| why.to_string())
        };
        assert!(told(&[7; 32], 0o600).unwrap().is_some());
        let said = told(&[7; 32], 0o640).unwrap_err();
        assert!(said.contains("mode 0640"), "{said}");
        for (len, why) in [(31, "31 bytes, allowed: 32"), (4097, "longer than")] {
            let said = told(&vec![7; len], 0o600).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        std::fs::remove_file(&file).unwrap();
        let args = FencingArgs {
            fencing_secret: Some(file),
            fencing_end: false,
        };
        assert!(args.fencing().is_err());
        assert_eq!(FencingArgs::default().fencing().unwrap(), None);
    }
}
