// CannedServer: a gRPC server on a free loopback port that answers the Scheduler's methods with
// what a test gave it, and keeps the requests. For tests of the client and of the shell.
//
// A method without an answer is UNIMPLEMENTED. A handler may be called from several threads.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace berth::client::testing {

// What happens after one message of the client.
struct Reply {
  std::vector<std::string> messages;  // serialised
  grpc::Status status;
  enum class Then { end, read_on, stay_open } then = Then::end;
};

class CannedServer {
 public:
  using Handler = std::function<Reply(const std::string& request)>;

  explicit CannedServer(const std::string& address = "127.0.0.1:0") : service_(*this) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~CannedServer() { stop(); }
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  void stop() { server_->Shutdown(std::chrono::system_clock::now()); }
  const std::string& address() const { return address_; }

  void on(const std::string& method, Handler handler) {
    const std::lock_guard lock(mutex_);
    handlers_[method] = std::move(handler);
  }
  template <class Message>
  void answer(const std::string& method, const Message& message) {
    on(method,
       [bytes = message.SerializeAsString()](const std::string&) { return Reply{{bytes}}; });
  }
  template <class Message>
  void stream(const std::string& method, const std::vector<Message>& messages,
              Reply::Then then = Reply::Then::end) {
    Reply reply{{}, grpc::Status::OK, then};
    for (const Message& message : messages)
      reply.messages.push_back(message.SerializeAsString());
    on(method, [reply](const std::string&) { return reply; });
  }
  void fail(const std::string& method, const grpc::Status& status) {
    on(method, [status](const std::string&) { return Reply{{}, status}; });
  }
  // Never answers; the call ends by its deadline or when the client gives up.
  void hang(const std::string& method) {
    on(method, [](const std::string&) { return Reply{{}, {}, Reply::Then::stay_open}; });
  }

  std::size_t calls(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    const auto found = requests_.find(method);
    return found == requests_.end() ? 0 : found->second.size();
  }
  // The last one, or an empty message.
  template <class Message>
  Message request(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    Message message;
    const auto found = requests_.find(method);
    if (found != requests_.end()) message.ParseFromString(found->second.back());
    return message;
  }
  // The "authorization" of the last call.
  std::string authorization() const {
    const std::lock_guard lock(mutex_);
    return authorization_;
  }

 private:
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(CannedServer& server, std::string method)
        : server_(server), method_(std::move(method)) {
      StartRead(&buffer_);
    }
    void OnReadDone(bool ok) override {
      if (ok) {
        Reply reply = server_.reply_to(method_, bytes_of(buffer_));
        pending_.insert(pending_.end(), reply.messages.begin(), reply.messages.end());
        reply_ = std::move(reply);
      } else if (reply_.then == Reply::Then::read_on) {
        reply_.then = Reply::Then::end;
      }
      go_on(ok);
    }
    void OnWriteDone(bool ok) override {
      if (ok)
        pending_.pop_front();
      else
        pending_.clear();
      go_on(true);
    }
    void OnCancel() override { finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    void go_on(bool may_read) {
      if (!pending_.empty()) {
        grpc::Slice slice(pending_.front());
        buffer_ = grpc::ByteBuffer(&slice, 1);
        StartWrite(&buffer_);
      } else if (reply_.then == Reply::Then::end) {
        finish(reply_.status);
      } else if (reply_.then == Reply::Then::read_on && may_read) {
        StartRead(&buffer_);
      }
    }
    void finish(const grpc::Status& status) {
      {
        const std::lock_guard lock(mutex_);
        if (std::exchange(finished_, true)) return;
      }
      Finish(status);
    }
    static std::string bytes_of(const grpc::ByteBuffer& buffer) {
      std::vector<grpc::Slice> slices;
      std::string bytes;
      if (!buffer.Dump(&slices).ok()) return bytes;
      for (const grpc::Slice& slice : slices)
        bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      return bytes;
    }

    CannedServer& server_;
    std::string method_;
    grpc::ByteBuffer buffer_;
    std::deque<std::string> pending_;
    Reply reply_;
    std::mutex mutex_;
    bool finished_ = false;
  };

  class Service : public grpc::CallbackGenericService {
   public:
    explicit Service(CannedServer& server) : server_(server) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      const std::string& path = context->method();
      const auto& metadata = context->client_metadata();
      const auto found = metadata.find("authorization");
      const std::lock_guard lock(server_.mutex_);
      server_.authorization_ =
          found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
      return new Reactor(server_, path.substr(path.rfind('/') + 1));
    }

   private:
    CannedServer& server_;
  };

  Reply reply_to(const std::string& method, const std::string& request) {
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      requests_[method].push_back(request);
      const auto found = handlers_.find(method);
      if (found != handlers_.end()) handler = found->second;
    }
    if (handler) return handler(request);
    return {{}, grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no answer for " + method)};
  }

  mutable std::mutex mutex_;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::vector<std::string>> requests_;
  std::string authorization_;
  std::string address_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

// A status with the details that the server's errors carry.
inline grpc::Status detailed(grpc::StatusCode code, const std::string& message,
                             const std::string& reason,
                             const std::vector<std::pair<std::string, std::string>>& fields = {},
                             int retry_ms = 0) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(code));
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("berth");
  status.add_details()->PackFrom(info);
  if (!fields.empty()) {
    google::rpc::BadRequest bad;
    for (const auto& [field, description] : fields) {
      auto& violation = *bad.add_field_violations();
      violation.set_field(field);
      violation.set_description(description);
    }
    status.add_details()->PackFrom(bad);
  }
  if (retry_ms > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(retry_ms / 1000);
    retry.mutable_retry_delay()->set_nanos(retry_ms % 1000 * 1'000'000);
    status.add_details()->PackFrom(retry);
  }
  return {code, message, status.SerializeAsString()};
}

}  // namespace berth::client::testing
