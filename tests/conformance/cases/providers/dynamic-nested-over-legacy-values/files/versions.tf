terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}
