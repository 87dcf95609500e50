# As examples/complete, without what moto has not: data protection, and other modules.
data "aws_caller_identity" "current" {}

resource "aws_sqs_queue" "this" {
  name                        = "weft-wild.fifo"
  fifo_queue                  = true
  content_based_deduplication = true
}

resource "aws_iam_role" "this" {
  name = "weft-wild"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Action    = "sts:AssumeRole"
      Effect    = "Allow"
      Sid       = "SnsAssume"
      Principal = { Service = "sns.amazonaws.com" }
    }]
  })
}

module "default" {
  source = "../.."

  name              = "weft-wild-default"
  signature_version = 2
}

module "complete" {
  source = "../.."

  name                        = "weft-wild"
  use_name_prefix             = true
  display_name                = "complete"
  tracing_config              = "Active"
  fifo_topic                  = true
  content_based_deduplication = true

  delivery_policy = jsonencode({
    http = {
      defaultHealthyRetryPolicy = {
        minDelayTarget  = 20
        maxDelayTarget  = 20
        numRetries      = 3
        backoffFunction = "linear"
      }
      disableSubscriptionOverrides = false
    }
  })

  create_topic_policy         = true
  enable_default_topic_policy = true
  topic_policy_statements = {
    pub = {
      actions = ["sns:Publish"]
      principals = [{
        type        = "AWS"
        identifiers = [data.aws_caller_identity.current.arn]
      }]
    }
    sub = {
      actions = ["sns:Subscribe", "sns:Receive"]
      principals = [{
        type        = "AWS"
        identifiers = ["*"]
      }]
      conditions = [{
        test     = "StringLike"
        variable = "sns:Endpoint"
        values   = [aws_sqs_queue.this.arn]
      }]
    }
  }

  subscriptions = {
    sqs = {
      protocol = "sqs"
      endpoint = aws_sqs_queue.this.arn
    }
  }

  sqs_feedback = {
    failure_role_arn    = aws_iam_role.this.arn
    success_role_arn    = aws_iam_role.this.arn
    success_sample_rate = 100
  }

  tags = {
    Example = "complete"
  }
}

module "off" {
  source = "../.."
  create = false
}

output "topic" {
  value = module.complete.topic_name
}

output "subscriptions" {
  value = module.complete.subscriptions
}
