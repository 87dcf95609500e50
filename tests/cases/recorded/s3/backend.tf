terraform {
  backend "s3" {
    bucket         = "states"
    key            = "team/app"
    use_lockfile   = true
    use_path_style = true
  }
}
